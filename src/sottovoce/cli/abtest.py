"""`sottovoce abtest`: how many events a test of A against B needs, and what its losses show, privately."""

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from sottovoce._checks import choice, number
from sottovoce._written import listed
from sottovoce.cli.abtest_release import read_losses, release_once
from sottovoce.cli.options import PRIVACY, SHARED, Options, with_options
from sottovoce.cli.shared import AsJson, show
from sottovoce.evaluations import PrivateEvaluations
from sottovoce.privacy import Ledger, read_ledger
from sottovoce.stats import ReleasedMean, ab_test, events_needed
from sottovoce.stats.scale import scale_for

_OURS = ("loss_range", *PRIVACY)
_ELSE = tuple(name for name in SHARED if name not in _OURS)  # for a plan, which knows no direction

abtest_app = typer.Typer(
    name="abtest",
    add_completion=False,
    help="Tests of A against B, C, ...: plan them, and read what they show, with every loss private.",
    no_args_is_help=True,
)

Pairs = Annotated[str, typer.Option(help="control: each arm against the first; all: every two arms.")]
Confidence = Annotated[float, typer.Option(help="With which all intervals of differences hold together.")]


@abtest_app.command("plan")
@with_options(without=_ELSE)
def plan_command(
    options: Options,
    difference: Annotated[float, typer.Option(help="A difference of mean losses that is to be shown, if it is there.")],
    mean: Annotated[
        float | None, typer.Option(help="Mean loss of the control, if about known; the middle needs most.")
    ] = None,
    arms: Annotated[int, typer.Option(help="How many arms, the control included.")] = 2,
    pairs: Pairs = "control",
    confidence: Confidence = 0.95,
    power: Annotated[float, typer.Option(help="How likely the difference is to be shown.")] = 0.8,
    looks: Annotated[int, typer.Option(help="How often to look; each look needs noise of its own.")] = 1,
    deviation: Annotated[
        float | None, typer.Option(help="With `run --variance`: standard deviation of losses, if about known.")
    ] = None,
    as_json: AsJson = None,
) -> None:
    """Say how many events each arm needs, privacy noise, several arms and early looks included; reads no data."""
    found = events_needed(
        difference,
        privacy=options.guarantee,
        loss_range=options.clipping or (0.0, 1.0),
        mean=mean,
        arms=arms,
        pairs=pairs,
        confidence=confidence,
        power=power,
        looks=looks,
        deviation=deviation,
    )
    show(as_json, found.to_dict(), str(found))


@abtest_app.command("run")
@with_options(without=tuple(name for name in _ELSE if name != "direction"))
def run_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV or JSON lines with arm and loss.")],
    arms: Annotated[str, typer.Option(help="Names of the arms, such as A,B,C; the first is the control.")],
    options: Options,
    pairs: Pairs = "control",
    confidence: Confidence = 0.95,
    variance: Annotated[
        bool, typer.Option("--variance", help="Release squares, too: narrower intervals, at no cost in privacy.")
    ] = False,
    ledger: Annotated[Path | None, typer.Option(help="A ledger that is charged.")] = None,
    name: Annotated[str | None, typer.Option(help="Of the charge; by default the name of FILE.")] = None,
    as_json: AsJson = None,
) -> None:
    """Compare the arms of a test by their losses, privately; what is released is kept, and released once.

    A second run of the same command prints the same numbers. Early looks, which are planned for, are for Python.
    """
    choice("pairs", pairs, ("control", "all"))  # before anything is released
    number("confidence", confidence, above=0, at_most=math.nextafter(1, 0))
    settings: dict[str, Any] = {
        "arms": _names(arms),
        "loss_range": options.clipping or (0.0, 1.0),
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
