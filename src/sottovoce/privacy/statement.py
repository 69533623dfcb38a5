"""The privacy statement: what is promised, to whom, against whom, why it holds, and what is not covered."""

import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from sottovoce._printed import Part, Printed
from sottovoce.privacy.guarantees import Guarantee, LocalDP, guarantee_from_dict
from sottovoce.privacy.noise import Noise
from sottovoce.privacy.promise import Promise, unit_of

NO_NOISE = "losses shape the actions with no noise. Use it for simulations only"
"""Why an algorithm that learns without noise promises nothing."""

_NOT_COVERED = (
    "which events took place, when, and which of them reported a loss",
    "timing, memory and swap of the machine that runs this, or anyone who controls it",
    "losses where they come from and on their way here: the promise begins where they are told",
    "other releases about the same people: their budgets add up",
)
_NOT_COVERED_LOCALLY = (
    "which events took place, when, and which of them sent a report",
    "the device of the loss's owner, and whoever its program came from: this begins where that makes the report",
    "other releases about the same people: their budgets add up",
)
_BEYOND = "people who take part in more than {most}"
_BEYOND_LOCALLY = "people who take part in more than {most}, a report for each"
_ONE_PERSON = "somebody whom the caller gives several names as a person: each counts for itself"
_ADVERSARY = "sees every action, knows every other loss, all public coins and this program."
_LOCAL_ADVERSARY = "sees every report as it leaves its owner; whoever runs the optimizer may be that adversary."


@dataclass(frozen=True)
class PrivacyStatement(Printed):
    """What a privacy officer signs; `print` it.

    Attributes
    ----------
    guarantee
        The promise, as a value.
    mechanism
        What adds the noise, in words.
    why
        The argument, in one paragraph; without privacy, why nothing is promised.
    noise
        The distribution on the integer grid, or None without privacy.
    simulated
        True if the noise can be reproduced from a seed: then nothing is private, whatever the guarantee says.
    also_not_covered
        What else is not covered where this runs: the database of a study, say.
    inherited
        What was promised to people whose losses are in the prior, by each of the runs behind it.
    counted
        Whether people are counted here (`ask(person=...)`), or by the caller.
    feedback
        Whether an event tells one loss, of its "decision", or one of each of its "items".
    """

    guarantee: Guarantee
    mechanism: str
    why: str
    noise: Noise | None
    simulated: bool
    also_not_covered: tuple[str, ...] = ()
    inherited: tuple[Promise, ...] = ()
    counted: bool = False
    feedback: str = "decision"

    @property
    def private(self) -> bool:
        """Whether the promise is really kept by this run."""
        return self.guarantee.private and not self.simulated

    @property
    def promises(self) -> tuple[Promise, ...]:
        """What was promised to everybody whose losses are in this run: by this run, then by those behind its prior."""
        return (Promise(self.guarantee, self.simulated), *self.inherited)

    @property
    def bares_prior(self) -> bool:
        """Whether the prior holds losses of people whom nothing protects, though this run is private."""
        return self.private and not all(one.private for one in self.inherited)

    @property
    def headline(self) -> str:
        """The promise in one line."""
        return self.promises[0].headline + (" (PRIOR NOT PRIVATE)" if self.bares_prior else "")

    @property
    def unit(self) -> str:
        """Whose data is protected."""
        whole = self.feedback == "items" and self.guarantee.contributions == 1
        return "one event's losses of all its items" if whole else unit_of(self.guarantee)

    @property
    def not_covered(self) -> tuple[str, ...]:
        """What the promise does not cover."""
        local, count = isinstance(self.guarantee, LocalDP), self.guarantee.contributions
        most = "one event" if count == 1 else f"{count:,} events"
        beyond = _BEYOND_LOCALLY if local else _ONE_PERSON if self.counted else _BEYOND
        own = _NOT_COVERED_LOCALLY if local else _NOT_COVERED
        return (beyond.format(most=most), *own, *self.also_not_covered)

    @property
    def people(self) -> str:
        """Who sees to it that nobody is in more events than the promise names, and what is kept of people."""
        most = "1 loss" if self.guarantee.contributions == 1 else f"{self.guarantee.contributions:,} losses"
        if not self.counted:
            return f"contributions are the caller's: nobody here counts whether a person gives more than {most}."
        told = "wants_loss is False for them: a report that is sent all the same is dropped unread, but was sent"
        if not isinstance(self.guarantee, LocalDP):
            told = "what is told is dropped unread"
        return (
            f"contributions are enforced: once a person was asked for {most}, {told}. Kept of each person: a keyed "
            "hash of the name that the caller gives them, and how many losses they were asked for; neither the name "
            "nor their events. `erase_people` erases it, for the end."
        )

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """What it says below its headline: names and texts."""
        local = isinstance(self.guarantee, LocalDP)
        if not self.guarantee.private:
            rows = [("Promise", f"none: {self.why}.")]
        else:
            rows = [
                (
                    "Private",
                    f"{self.unit} (contributions = {self.guarantee.contributions:,}). Losses are clipped to their "
                    "range before anything else touches them.",
                ),
                ("Neighbours", f"two sequences of losses that differ by replacing {self.unit}."),
                ("Adversary", _LOCAL_ADVERSARY if local else _ADVERSARY),
                ("Promise", f"{self.guarantee}, for the whole run and everything computed from its outputs."),
                ("Mechanism", self.mechanism),
                ("Why it holds", self.why),
                ("People", self.people),
                ("Not covered", "; ".join(self.not_covered) + "."),
            ]
        if self.inherited:
            rows.append(("Prior", _of_the_prior(self.inherited, bares=self.bares_prior)))
        if self.simulated:
            rows.append(("NOT PRIVATE", "the noise is simulated from a seed: whoever knows the seed knows the losses."))
        return tuple(rows)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON; `from_dict` reads it back."""
        return {
            **{one.name: getattr(self, one.name) for one in fields(self)},
            "guarantee": self.guarantee.to_dict(),
            "noise": None if self.noise is None else asdict(self.noise),
            "also_not_covered": list(self.also_not_covered),
            "inherited": [one.to_dict() for one in self.inherited],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return what `to_dict` wrote down.

        Parameters
        ----------
        plain
            Plain data, as for JSON.
        """
        return cls(
            guarantee_from_dict(plain["guarantee"]),
            plain["mechanism"],
            plain["why"],
            None if plain["noise"] is None else Noise(**plain["noise"]),
            plain["simulated"],
            tuple(plain["also_not_covered"]),
            tuple(map(Promise.from_dict, plain["inherited"])),
            plain["counted"],
            plain["feedback"],
        )

    def _parts(self) -> list[Part]:
        return [(f"Privacy: {self.headline}", self.rows)]

    def _line(self, row: tuple[str, str]) -> str:
        name, text = row
        return textwrap.fill(text, width=110, initial_indent=f"  {name:<13} ", subsequent_indent=" " * 16)


def _of_the_prior(promises: tuple[Promise, ...], *, bares: bool) -> str:
    """Return what is not promised here to people whose losses are in the prior, but was by the runs behind it."""
    if len(promises) == 1:
        words = f"they were promised, by the run that released it, {promises[0]}."
    else:
        each = "; ".join(f"({number}) {one}" for number, one in enumerate(promises, start=1))
        words = f"they were promised, by the {len(promises)} runs behind it, the latest first: {each}. "
        words += "The budgets of whoever is in several of them add up."
    if bares:
        words += " NOT PRIVATE: decisions of this run show losses of theirs, which the caller has accepted in words."
    return f"people whose losses are in the prior are not covered by the promise above: {words}"


def state(guarantee: Guarantee, *, mechanism: str, why: str, noise: Noise | None, simulated: bool) -> PrivacyStatement:
    """Build a statement; without privacy there is no noise to be simulated.

    Parameters
    ----------
    guarantee
        What is promised.
    mechanism
        What releases, in words.
    why
        Why the promise holds, in words.
    noise
        The noise of one number; None if none is added.
    simulated
        Whether that noise is simulated; the statement then says NOT PRIVATE.

    Examples
    --------
    >>> from sottovoce.privacy.guarantees import PureDP
    >>> statement = state(PureDP(1.0), mechanism="...", why="...", noise=Noise("laplace", 9.0), simulated=True)
    >>> statement.headline
    'epsilon = 1, pure differential privacy (SIMULATED NOISE: NOT PRIVATE)'
    >>> statement.private
    False
    """
    return PrivacyStatement(guarantee, mechanism, why, noise, simulated and guarantee.private)
