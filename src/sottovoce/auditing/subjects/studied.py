"""Durable studies as something to audit: real files, closed and opened again, or put back, in the middle of a run."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sottovoce.auditing.playing.transcripts import Harness, TakingTurns
from sottovoce.auditing.subjects.configurations import Configuration
from sottovoce.learning import Plan
from sottovoce.privacy import Guarantee, LocalDP, NoiseSource
from sottovoce.studies import Study

_IN_MEMORY = "/dev/shm"


def scratch_folder() -> "tempfile.TemporaryDirectory[str]":
    """Return a folder of its own; what is audited is what is released, and not whether it survives."""
    in_memory = os.access(_IN_MEMORY, os.W_OK | os.X_OK)
    return tempfile.TemporaryDirectory(prefix="sottovoce-audit-", dir=_IN_MEMORY if in_memory else None)


@dataclass(frozen=True, eq=False)
class StudyConfiguration:
    """Fresh studies, each in an SQLite file of its own that is deleted in the end.

    Parameters
    ----------
    configuration
        What the study is made with.
    label
        A name for tables.
    schedules
        How losses may arrive; by default in all ways that are possible. One at a time, of more than a few events, how
        many are leased ahead depends on the clock, and is shown.

    Examples
    --------
    >>> import sottovoce as sv
    >>> small = Configuration(sv.domains.Simplex(2), sv.PureDP(1.0), horizon=8, choices={"probes": 2})
    >>> harness = StudyConfiguration(small, "study")(0, sv.SimulatedNoise(0))
    >>> harness.remaining
    8
    >>> harness.close()
    """

    configuration: Configuration
    label: str
    schedules: tuple[str, ...] | None = None
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
        """Return a harness for a fresh study."""
        kind = Studied if self.configuration.segments is None else StudiedInSegments
        return kind(self.configuration, seed, noise)


class Studied(Harness):
    """A harness for a study: what an adversary reads of it are its actions, and all that it shows and exports."""

    def __init__(self, configuration: Configuration, seed: int, source: NoiseSource) -> None:
        if isinstance(configuration.privacy, LocalDP):
            raise ValueError(
                "studies of privatised reports are not audited: what is released are the reports themselves"
            )
        self._folder = scratch_folder()
        self._source = source
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
        self._listen()
        self.own = {self._folder.name: "<folder>", made.export()["configuration"]["identity"]: "<identity>"}

    def _open(self, **options: Any) -> Study:
        url = f"sqlite:///{Path(self._folder.name) / 'study.db'}"
        return Study.open(url, name="audit", noise=self._source, **options)

    def renew(self, how: str) -> None:
        """Close the study, and open it again: as the same incarnation, or as one that was put back from a backup."""
        self._optimizer.close()
        self._optimizer = self._open(restored=how == "restored")
        self._listen()

    def close(self) -> None:
        """Close the study, and delete its file."""
        self._optimizer.close()
        self._folder.cleanup()


class StudiedInSegments(TakingTurns, Studied):
    """A harness for a study with segments."""
