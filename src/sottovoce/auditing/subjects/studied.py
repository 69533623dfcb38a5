"""Durable studies as something to audit: real files, closed and opened again, or put back, in the middle of a run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sottovoce.auditing._scripted import Scripted
from sottovoce.auditing.playing.transcripts import AtOptimizer, TakingTurns
from sottovoce.auditing.subjects.configurations import Configuration
from sottovoce.auditing.subjects.scratch import scratch_folder
from sottovoce.learning import Plan
from sottovoce.privacy import Guarantee, LocalDP, NoiseSource, PrivacyStatement
from sottovoce.studies import Study

__all__ = ["Studied", "StudiedInSegments", "StudyConfiguration"]


@dataclass(frozen=True, eq=False)
class StudyConfiguration:
    """Fresh studies, each in an SQLite file of its own that is deleted in the end.

    Parameters
    ----------
    configuration
        What the study is made with.
    label
        A name for tables.

    Examples
    --------
    >>> import sottovoce as sv
    >>> small = Configuration(sv.domains.Simplex(2), sv.PureDP(1.0), horizon=8, choices={"probes": 2})
    >>> seat = StudyConfiguration(small, "study")(0, sv.SimulatedNoise(0))
    >>> seat.remaining
    8
    >>> seat.close()
    """

    configuration: Configuration
    label: str
    kind = "study"

    @property
    def plan(self) -> Plan:
        """The plan of every study made here."""
        return self.configuration.plan

    @property
    def privacy(self) -> Guarantee:
        """The guarantee of every study made here."""
        return self.configuration.privacy

    @property
    def horizon(self) -> int | None:
        """How many events there are."""
        return self.configuration.horizon

    def __call__(self, seed: int, noise: NoiseSource) -> Any:
        """Return a seat at a fresh study."""
        kind = Studied if self.configuration.segments is None else StudiedInSegments
        return kind(self.configuration, seed, noise)


class Studied(AtOptimizer):
    """A seat at a study: what an adversary reads of it are its actions, and all that it shows and exports."""

    def __init__(self, configuration: Configuration, seed: int, source: NoiseSource) -> None:
        if isinstance(configuration.privacy, LocalDP):
            raise ValueError(
                "studies of privatised reports are not audited: what is released are the reports themselves"
            )
        self._known: set[tuple[str, int]] = set()  # rounds whose release was read
        self._closed_before = 0
        self._folder = scratch_folder()
        self._patient, self._source = configuration.patience is None, source
        made = self._open(
            domain=configuration.domain,
            horizon=configuration.horizon,
            loss_range=configuration.loss_range,
            privacy=configuration.privacy,
            patience=configuration.patience,
            seed=seed,
            **{**configuration.facts(), **configuration.planned},
        )
        super().__init__(made, source, configuration.loss_range)
        self.own = {self._folder.name: "<folder>", made.export()["configuration"]["identity"]: "<identity>"}

    def _open(self, **options: Any) -> Study:
        url = f"sqlite:///{Path(self._folder.name) / 'study.db'}"
        return Study.open(url, name="audit", noise=self._source, **options)

    @property
    def patient(self) -> bool:
        """Whether rounds wait for ever."""
        return self._patient

    @property
    def privacy(self) -> PrivacyStatement:
        """What the study promises."""
        promised: PrivacyStatement = self._optimizer.privacy
        return promised

    @property
    def plan(self) -> Plan:
        """The plan in force."""
        plan: Plan = self._optimizer.plan
        return plan

    def renew(self, how: str) -> None:
        """Close the study, and open it again: as the same life, or as one that was put back from a backup."""
        self._optimizer.close()
        self._optimizer = self._open(restored=how == "restored")

    def close(self) -> None:
        """Read what was released, close the study, and delete its file."""
        self._read()
        self._optimizer.close()
        self._folder.cleanup()

    def _read(self) -> None:
        """Take in what was released since, each number once: the rounds of all segments, as they are closed."""
        rounds = self._optimizer.export()["rounds"]
        found = {(str(one.get("segment")), one["round"]): one["released"] for one in rounds if "released" in one}
        self.released += [np.array(found[one], dtype=np.float64) for one in found if one not in self._known]
        self._known |= found.keys()


class StudiedInSegments(TakingTurns, Studied):
    """A seat at a study with segments.

    Rounds are exported segment by segment. Where the noise is a script, they are read as they are released instead: in
    the order of the draws.
    """

    def _hand_in(self) -> None:
        super()._hand_in()
        if isinstance(self._source, Scripted) and self._optimizer.round != self._closed_before:
            self._closed_before = self._optimizer.round
            self._read()
