"""The record of one simulation: how much was lost, against whom, under which promise."""

import io
import json
import os
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

import numpy as np

from sottovoce._arrays import Integers, Vector
from sottovoce._disk import write_atomically
from sottovoce.lab.simulation.segmented import SegmentScores
from sottovoce.privacy import Guarantee, guarantee_from_dict

Rows = tuple[tuple[str, str], ...]
"""Names and texts."""

_FORMAT = "sottovoce run, version 1"
_ARRAYS = ("events", "rounds", "simulation_only_loss", "simulation_only_best_loss", "simulation_only_center_loss")


@dataclass(frozen=True, slots=True)
class RunDetails:
    """What was run: everything about a `Run` that is not a curve. All of it is public.

    Parameters
    ----------
    domain, environment, privacy_headline : str
        As the objects print themselves.
    simulated_noise : bool
        Whether the noise came from a seeded generator, which is not private.
    seed : int or None
        Of the optimizer's public coins; None if they came from the operating system.
    rounds, oracle_calls : int
        Rounds released, and calls of linear oracles in that loop.
    seconds : float
        Spent in the loop of asking, evaluating and telling.
    horizon : int
        Events that were to be simulated.
    certificate : float
        Per event, no fixed point is better than the comparator by more than this.
    guarantee : Guarantee or None
        What is promised; None for a baseline that promises nothing.
    plan_rows, privacy_rows : tuple of (str, str)
        What the plan and the privacy statement say, as names and texts.
    caution : str
        What to mind if what was released did not fit the optimizer's model of the losses; otherwise empty.
    decision : str
        The last decision in the names of the set's coordinates; empty if it has none.

    Examples
    --------
    >>> import sottovoce as sv
    >>> optimizer = sv.PrivateBandit(sv.domains.Ball(3), horizon=400, loss_range=(0, 2), privacy=sv.NoPrivacy(), seed=1)
    >>> sv.lab.simulate(optimizer, sv.lab.MovingTarget(optimizer.domain)).details.horizon
    400
    """

    domain: str
    environment: str
    privacy_headline: str
    simulated_noise: bool
    seed: int | None
    rounds: int
    oracle_calls: int
    seconds: float
    horizon: int
    certificate: float
    guarantee: Guarantee | None = None
    plan_rows: Rows = ()
    privacy_rows: Rows = ()
    caution: str = ""
    decision: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Run:
    """What a simulation found: regret against the best fixed point, and against never learning.

    Every curve here is made of true losses, which nobody has in a live deployment: releasing them would break the
    promise. The three stored curves say so by name. They have a bounded number of checkpoints, whatever the horizon.

    Parameters
    ----------
    events : array of shape (m,)
        Checkpoints: how many events had passed. The last one is the number of events finished.
    rounds : array of shape (m,)
        Rounds released by then.
    simulation_only_loss : array of shape (m,)
        True cumulative loss of the actions played.
    simulation_only_best_loss : array of shape (m,)
        Of the fixed point that is best over all finished events.
    simulation_only_center_loss : array of shape (m,)
        Of playing the centre of the domain for ever: never learning.
    details : RunDetails
        What was run.
    segments : SegmentScores or None
        What was lost in each segment, where the environment has any: then the best loss is that of the decision that
        is best for each segment, not of one for all.
    point : array of shape (n,)
        The last decision; empty if there was none.

    Examples
    --------
    >>> import sottovoce as sv
    >>> environment = sv.lab.NoisyLinear(sv.domains.Simplex(4))
    >>> optimizer = sv.PrivateBandit(
    ...     environment.domain, horizon=2_000, loss_range=environment.loss_range, privacy=sv.NoPrivacy(), seed=1
    ... )
    >>> run = sv.lab.simulate(optimizer, environment)
    >>> run.finished, int(run.events[-1])
    (True, 2000)
    >>> print(str(run).splitlines()[0])
    NoisyLinear(Simplex(4), gap=0.3, seed=0): 2,000 events
    """

    events: Integers
    rounds: Integers
    simulation_only_loss: Vector
    simulation_only_best_loss: Vector
    simulation_only_center_loss: Vector
    details: RunDetails
    segments: SegmentScores | None = None
    point: Vector = field(default_factory=lambda: np.zeros(0))

    @property
    def regret(self) -> Vector:
        """Cumulative regret at each checkpoint, against the point that is best over the whole run; of each segment."""
        return self.simulation_only_loss - self.simulation_only_best_loss

    @property
    def no_learning(self) -> Vector:
        """Cumulative regret of playing the centre of the domain for ever."""
        return self.simulation_only_center_loss - self.simulation_only_best_loss

    @property
    def events_finished(self) -> int:
        """Events whose losses were told."""
        return int(self.events[-1]) if len(self.events) else 0

    @property
    def finished(self) -> bool:
        """Whether all events were simulated; False after an interruption."""
        return self.events_finished >= self.details.horizon

    @property
    def final_regret(self) -> float:
        """Regret at the end."""
        return float(self.regret[-1]) if len(self.events) else 0.0

    @property
    def final_no_learning(self) -> float:
        """Regret of never learning at the end."""
        return float(self.no_learning[-1]) if len(self.events) else 0.0

    @property
    def regret_per_event(self) -> float:
        """Final regret divided by the number of events."""
        return self.final_regret / max(1, self.events_finished)

    @property
    def no_learning_per_event(self) -> float:
        """Final regret of never learning divided by the number of events."""
        return self.final_no_learning / max(1, self.events_finished)

    @property
    def learned(self) -> str:
        """In words: which part of the regret of never learning was avoided."""
        if not len(self.events):
            return "nothing was simulated"
        if self.no_learning_per_event <= 1e-9:
            return "nothing to learn: the centre is as good as any fixed point"
        share = 1.0 - self.final_regret / self.final_no_learning
        if share < 0:
            return f"nothing: {1 - share:.1f} times the regret of never learning"
        best = "a fixed point" if self.segments is None else "the best decision of each segment"
        return f"{share:.0%} of what {best} can gain over never learning"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the run to one file (numpy's npz, no pickle) and return its path.

        Parameters
        ----------
        path
            Of the file.
        """
        details = {one.name: getattr(self.details, one.name) for one in fields(RunDetails)}
        guarantee = self.details.guarantee
        details["guarantee"] = None if guarantee is None else guarantee.to_dict()
        about: dict[str, Any] = {"format": _FORMAT, "details": details}
        arrays: dict[str, Any] = {name: getattr(self, name) for name in (*_ARRAYS, "point")}
        if self.segments is not None:
            about["segments"] = self.segments.names
            arrays |= {f"segments.{name}": getattr(self.segments, name) for name in SegmentScores.arrays}
        file = io.BytesIO()
        np.savez(file, about=np.array(json.dumps(about)), **arrays)
        return write_atomically(path, file.getvalue())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read the run that `save` wrote to a `path`."""
        with Path(path).open("rb") as file:
            try:
                with np.load(file, allow_pickle=False) as stored:
                    about, scores = json.loads(str(stored["about"])), None
                    if about["format"] != _FORMAT:
                        raise ValueError(f"its format is {about['format']!r}")
                    if "segments" in about:
                        names = tuple(tuple(one) if isinstance(one, list) else one for one in about["segments"])
                        scores = SegmentScores(names, *(stored[f"segments.{name}"] for name in SegmentScores.arrays))
                    curves = {name: stored[name] for name in (*_ARRAYS, "point")}
                    details = about["details"]
                    rows: dict[str, Any] = {
                        name: tuple(map(tuple, details[name])) for name in ("plan_rows", "privacy_rows")
                    }
                    kept = details["guarantee"]
                    rows["guarantee"] = None if kept is None else guarantee_from_dict(kept)
                    return cls(**curves, details=RunDetails(**{**details, **rows}), segments=scores)
            except Exception as problem:  # whatever reading a file that is none, or is damaged, may raise
                words = "is not a run saved by this version of sottovoce, or is damaged"
                raise ValueError(f"{os.fspath(path)} {words}: {problem}") from problem

    def __str__(self) -> str:
        details = self.details
        count = f"{self.events_finished:,} events"
        if not self.finished:
            count += f" of {details.horizon:,}, then interrupted"
        return "\n".join(
            [
                f"{details.environment}: {count}",
                f"  regret          {self.final_regret:,.1f} ({self.regret_per_event:.4f} per event)",
                f"  never learning  {self.final_no_learning:,.1f} ({self.no_learning_per_event:.4f} per event)",
                f"  learned         {self.learned}",
                f"  privacy         {details.privacy_headline}",
                f"  rounds          {details.rounds:,}",
                f"  oracle calls    {details.oracle_calls:,}",
                f"  time            {details.seconds:.2f} s",
                *([] if self.segments is None else ["  by segment", *self.segments.lines()]),
                *([f"  decision        {details.decision}"] if details.decision else []),
                *([f"  caution         {details.caution}"] if details.caution else []),
            ]
        )
