"""Where a study stands at this moment: counts, what is waited for, how it is."""

from collections.abc import Iterable
from dataclasses import dataclass

from sottovoce.privacy.promise import UNSPENT
from sottovoce.report.html.parts import Mark, Tile
from sottovoce.studies import Status, Study

__all__ = ["Now", "look_now", "now_of"]


@dataclass(frozen=True, slots=True)
class Now:
    """Where a study stands.

    Attributes
    ----------
    name, domain
        Of the study.
    version
        What learned parts of its page rest on: they are shown anew when it changes.
    tiles
        Headline numbers.
    percent
        Of the events that were asked; None if nobody knows how many there will be.
    waiting
        What the first open round waits for, in words.
    marks
        How it is; what must not be overlooked comes first.
    banner
        Why nobody is protected; empty if people are.
    rounds
        That are closed.
    """

    name: str
    domain: str
    version: str
    tiles: tuple[Tile, ...]
    percent: float | None
    waiting: str
    marks: tuple[Mark, ...]
    banner: str
    rounds: int


def look_now(study: Study) -> Now:
    """Return where a study stands."""
    statement = study.privacy
    return now_of(
        study.status(), study.horizon, repr(study.domain), simulated=statement.simulated, private=statement.private
    )


def now_of(status: Status, horizon: int | None, domain: str, *, simulated: bool, private: bool) -> Now:
    """Return the same from what a study has said of itself."""
    percent = None if not horizon else round(100 * min(1.0, status.asked / horizon), 1)
    return Now(
        name=status.name,
        domain=domain,
        version=f"{status.incarnation}-{status.round}",
        tiles=tuple(_tiles(status, horizon, percent, private)),
        percent=percent,
        waiting=_waiting(status),
        marks=tuple(_marks(status, horizon)),
        banner=_banner(simulated, private),
        rounds=status.round,
    )


def _tiles(status: Status, horizon: int | None, percent: float | None, private: bool) -> Iterable[Tile]:
    if horizon is None or percent is None:
        yield Tile("Events asked", f"{status.asked:,}", "the horizon is unknown: plans are made anew as it doubles")
    else:
        yield Tile("Events asked", f"{status.asked:,}", f"of {horizon:,}, {percent:g}%; {status.remaining:,} are left")
    lost = f"; {status.forgotten:,} never came" if status.forgotten else ""
    yield Tile("Waiting for a loss", f"{status.outstanding:,}", f"{status.told:,} were told{lost}")
    yield Tile("Rounds closed", f"{status.round:,}", f"{status.open_rounds:,} open; only closed ones are released")
    yield Tile("Budget", _budget(status, private), status.privacy)


def _budget(status: Status, private: bool) -> str:
    if not private:
        return "none"
    return "not spent yet" if status.spent == UNSPENT else "spent"


def _waiting(status: Status) -> str:
    if status.waiting is None:
        return "No round is open."
    words = str(status.waiting)
    return f"{words[0].upper()}{words[1:]}."


def _banner(simulated: bool, private: bool) -> str:
    if simulated:
        return (
            "The noise is simulated from a seed. Whoever knows the seed knows the losses: this is for trying things "
            "out, and protects nobody."
        )
    return "" if private else "No noise is added anywhere: the decisions show the losses that they were made from."


def _marks(status: Status, horizon: int | None) -> Iterable[Mark]:
    if status.fit_check is not None and status.fit_check.caution:
        yield Mark("bad", "model does not fit", status.fit_check.caution)
    if status.erasure_pending:
        yield Mark("note", "erasure pending", f"for {status.erasure_pending:,} rounds: retried with every call")
    if status.incarnation != 1:
        yield Mark("note", "restored", "it goes on from a backup, or a copy: people may have been asked before")
    if horizon is not None and status.asked >= horizon:
        yield Mark("good", "finished", "all of its events are asked: take its recommendation")
    elif not status.asked:
        yield Mark("note", "not begun", "nothing was asked yet")
    else:
        yield Mark("good", "running", "")
