"""Evaluations as something to audit: an optimizer that is not ours chooses what to try next by the means of before."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.auditing.playing.public_views import look
from sottovoce.auditing.playing.transcripts import Harness, one_of, whose_turn
from sottovoce.auditing.subjects.configurations import scratch_folder
from sottovoce.evaluations import Evaluation, PrivateEvaluations
from sottovoce.learning import Actions
from sottovoce.privacy import Guarantee, LocalDP, NoiseSource, local

_FEW = 100  # events of an evaluation that is run by the thousand


class EvaluationPlan(NamedTuple):
    """What releases the means, in words and by its mechanism; the choice of what to try is not ours."""

    what: str
    mechanism: str
    exploration: str = "evaluations"
    options: None = None


@dataclass(frozen=True, eq=False)
class EvaluationConfiguration:
    """Fresh evaluations, one after another or several at once, each tried with what the means before it suggest.

    Parameters
    ----------
    privacy
        The guarantee.
    events
        Of each evaluation.
    together
        How many are open at once; people are then assigned to them by coins.
    batches
        How many times so many are opened.
    patience
        As for `PrivateEvaluations`, but for ever by default: audits tell late.
    variance
        Whether squares are released as well.
    stored
        Whether they live in an SQLite file of their own, which can be closed and opened again, or put back.
    schedules, people
        As for `Configuration`.
    label
        A name for tables.

    Examples
    --------
    >>> import sottovoce as sv
    >>> harness = EvaluationConfiguration(sv.PureDP(1.0), label="small")(0, sv.SimulatedNoise(0))
    >>> harness.remaining, len(harness.ask(None))
    (12, 4)
    """

    privacy: Guarantee
    events: int = 4
    together: int = 1
    batches: int = 3
    patience: int | str | None = None
    variance: bool = False
    label: str = "evaluations"
    stored: bool = False
    schedules: tuple[str, ...] | None = None
    people: int = 0

    @property
    def kind(self) -> str:
        """What follows for the cost of a run: one that is stored costs as much as a study."""
        return "stored evaluations" if self.stored else "evaluations"

    @property
    def by_runs(self) -> bool:
        """Whether it is run by the thousand; of many events, smaller ones show as much."""
        return self.events <= _FEW

    @property
    def horizon(self) -> int:
        """How many events there are."""
        return self.events * self.together * self.batches

    @property
    def alignable(self) -> bool:
        """Whether noise can be moved: of several that are open at once, who is missing decides which is first."""
        return self.together == 1 and not isinstance(self.privacy, LocalDP)

    @property
    def plan(self) -> EvaluationPlan:
        """What releases the means."""
        return EvaluationPlan(self.label, "local" if isinstance(self.privacy, LocalDP) else "probe-sums")

    def __call__(self, seed: int, noise: NoiseSource) -> "Evaluated":
        """Return a harness for fresh evaluations."""
        return Evaluated(self, seed, noise)


class Evaluated(Harness):
    """A harness for evaluations: an adversary sees every released number, what each person meets, and when one closes.

    What a person meets is chosen by what was released before: a step from the best so far, to the side that the last
    mean says.
    """

    def __init__(self, configuration: EvaluationConfiguration, seed: int, source: NoiseSource) -> None:
        self._configuration, self._source = configuration, source
        chosen = {name: getattr(configuration, name) for name in ("privacy", "patience", "variance")}
        if configuration.stored:
            self._folder = scratch_folder()
        self._evaluations = self._opened_with(loss_range=(0.0, 1.0), seed=seed, **chosen)
        super().__init__(self._evaluations, people=configuration.people)
        if configuration.stored:
            self.own[self._folder.name] = "<folder>"
        self._opened: dict[int, Evaluation] = {}  # by number
        self._met: dict[Any, tuple[int, float]] = {}  # numbers and parameters, by id
        self._parameters: dict[int, float] = {}  # by number
        self._reports: list[Floats] = []

    def _opened_with(self, **options: Any) -> PrivateEvaluations:
        file = Path(self._folder.name) / "evaluations.db" if self._configuration.stored else None
        url = None if file is None else f"sqlite:///{file}"
        return PrivateEvaluations(storage=url, name="audit", noise=self._source, **options)

    @property
    def plan(self) -> Any:
        """What releases."""
        return self._configuration.plan

    @property
    def remaining(self) -> int:
        """Events that are left."""
        return self._configuration.horizon - len(self._met)

    @property
    def closed(self) -> int:
        """How many evaluations are closed."""
        return len(self._evaluations.results)

    def ask(self, size: int | None) -> Any:
        """Assign so many people, or all that what is open has places for."""
        ids: list[Any] = []
        wanted: list[bool] = []
        room = sum(one.remaining for one in self._evaluations.open_evaluations)
        count = size or room or self._configuration.events * self._configuration.together
        while len(ids) < count:
            if not any(one.remaining for one in self._evaluations.open_evaluations):
                self._open()
            for number, person, wants in self._assigned(count - len(ids)):
                self._met[person] = number, self._parameters[number]
                ids.append(person)
                wanted.append(wants)
        x = np.array([[self._met[person][1]] for person in ids])
        return Actions(np.array(ids), x, np.array(wanted))

    def _assigned(self, most: int) -> list[tuple[int, Any, bool]]:
        """Assign one person, by coins; or a block, where one evaluation has all of the places."""
        if self._configuration.together > 1 or most == 1:
            met = self._evaluations.assign(**one_of(whose_turn(self.people, len(self._met), 1)))
            return [(met.evaluation.number, met.id, met.wants_loss)]
        one = next(one for one in self._evaluations.open_evaluations if one.remaining)
        size = min(most, one.remaining)
        whom = whose_turn(self.people, len(self._met), size).get("person")
        return [(one.number, *taken) for taken in one.take(size, whom)]

    def _open(self) -> None:
        results = self._evaluations.results
        best = min(results, key=lambda one: one.mean, default=None)
        centre = 0.0 if best is None else self._parameters[best.number]
        side = 1.0 if not results or results[-1].mean < sum(self.loss_range) / 2 else -1.0
        for number in range(self._configuration.together):
            opened = self._evaluations.open(self._configuration.events)
            self._parameters[opened.number] = centre + side * (number + 1)
            self._opened[opened.number] = opened

    def tell(self, ids: Any, losses: Any) -> None:
        """Tell losses, or what their owners make of them."""
        if np.ndim(ids) == 0:
            self._tell(self._opened[self._met[ids][0]], ids, losses)
            return
        told, numbers = np.asarray(losses), np.array([self._met[person][0] for person in ids.tolist()])
        for number in dict.fromkeys(numbers.tolist()):
            self._tell(self._opened[number], ids[numbers == number], told[numbers == number])

    def _tell(self, one: Evaluation, ids: Any, losses: Any) -> None:
        channel = self._evaluations.channel
        if channel is None:
            one.tell(losses, ids=ids)
            return
        report = local.privatise(losses, channel)
        self._reports += [np.array([value], dtype=np.float64) for value in np.ravel(report)]
        one.tell(report=report, ids=ids)

    def forget(self, ids: Any) -> None:
        """Say that losses will not come; an owner who says nothing sends no report either."""
        for person in np.atleast_1d(ids).tolist():
            self._reports.append(np.zeros(1))
            self._opened[self._met[person][0]].forget(person)

    def renew(self, how: str) -> None:
        """Close them, and open them again; those in memory cannot be taken up again."""
        if not self._configuration.stored:
            raise NotImplementedError("evaluations in memory cannot be taken up again")
        self._evaluations.close()
        self._evaluations = self._optimizer = again = self._opened_with(restored=how == "restored")
        self._opened = {number: again.evaluation(number) for number in self._opened}

    def look(self) -> dict[str, Any]:
        """Return all that is public, of all evaluations together and of each."""
        each = [(f" of evaluation {number}", look(one)) for number, one in self._opened.items()]
        return look(self._evaluations) | {f"{name}{of}": seen for of, one in each for name, seen in one.items()}

    def close(self) -> None:
        """Read what was released: in the order of release, or of opening where several are open at once."""
        found = list(self._evaluations.results)
        if self._configuration.together > 1:
            found.sort(key=lambda one: one.number)
        numbers = [[one.total] if one.squares is None else [one.total, one.squares] for one in found]
        by_owners = self._evaluations.channel is not None
        self.released = self._reports if by_owners else [np.array(one, dtype=np.float64) for one in numbers]
        self._evaluations.close()
        if self._configuration.stored:
            self._folder.cleanup()

    def _listen(self) -> None:
        """Nothing: results are read in the end."""
