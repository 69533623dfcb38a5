"""`sottovoce abtest`: what the losses of a test of A against B show, privately."""

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from sottovoce._checks import choice, number
from sottovoce._written import listed
from sottovoce.cli.abtest_release import read_losses, release_once
from sottovoce.cli.options import PRIVACY, Options, with_options
from sottovoce.cli.shared import AsJson, show
from sottovoce.evaluations import PrivateEvaluations
from sottovoce.options import OPTIONS
from sottovoce.privacy import Ledger, read_ledger
from sottovoce.stats import ReleasedMean, ab_test
from sottovoce.stats.scale import scale_for


@with_options(without=tuple(name for name in OPTIONS if name not in ("loss_range", "direction", *PRIVACY)))
def abtest_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV or JSON lines with arm and loss.")],
    arms: Annotated[str, typer.Option(help="Names of the arms, such as A,B,C; the first is the control.")],
    options: Options,
    pairs: Annotated[str, typer.Option(help="control: each arm against the first; all: every two arms.")] = "control",
    confidence: Annotated[float, typer.Option(help="With which all intervals of differences hold together.")] = 0.95,
    variance: Annotated[
        bool, typer.Option("--variance", help="Release squares, too: narrower intervals, at no cost in privacy.")
    ] = False,
    ledger: Annotated[Path | None, typer.Option(help="A ledger that is charged.")] = None,
    name: Annotated[str | None, typer.Option(help="Of the charge; by default the name of FILE.")] = None,
    as_json: AsJson = None,
) -> None:
    """Compare the arms of a test by their losses, privately; what is released is kept, and released once.

    A second run of the same command prints the same numbers. Plans and early looks are for Python.
    """
    choice("pairs", pairs, ("control", "all"))  # before anything is released
    number("confidence", confidence, above=0, at_most=math.nextafter(1, 0))
    settings: dict[str, Any] = {
        "arms": _names(arms),
        "loss_range": options.clipping,
        "privacy": options.guarantee.to_dict(),
        "charge": None if ledger is None else name or file.name,
        "variance": variance,
    }

    def evaluations(charged: Path | None = None) -> PrivateEvaluations:
        return PrivateEvaluations(
            settings["loss_range"],
            options.guarantee,
            patience=None,  # all that is there is told at once
            ledger=None if charged is None else Ledger(read_ledger(charged).budget, charged),
            name=settings["charge"],
            variance=variance,
        )

    uncharged, where = evaluations(), file.with_name(f"{file.name}.released.json")
    losses = read_losses(file, settings["arms"], uncharged.channel)
    numbers = release_once(where, settings, losses, lambda: evaluations(ledger))
    scale = scale_for(settings["loss_range"], options.guarantee, variance=variance)
    found = ab_test(
        {arm: ReleasedMean(place, scale=scale, **one) for place, (arm, one) in enumerate(numbers.items())},
        pairs=pairs,
        confidence=confidence,
        direction=options.direction or "minimize",
    )
    rows, counted = sum(map(len, losses.values())), sum(one["events"] for one in numbers.values())
    notes = [] if rows == counted else [f"The file has {rows:,} rows by now: {counted:,} are in what was released."]
    facts = {**found.to_dict(), "privacy": uncharged.privacy.headline, "released": str(where), "notes": notes}
    show(as_json, facts, "\n".join([str(found), *notes, "", str(uncharged.privacy), f"kept in {where}"]))


def _names(arms: str) -> list[str]:
    names = listed(arms)
    if len(names) < 2 or not all(names) or len(set(names)) < len(names):
        raise ValueError(f"arms must be two names at least, each once, with commas between them, got {arms!r}")
    return names
