"""Durable studies as something to audit: real files, closed and opened again, or put back, in the middle of a run."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.auditing.playing.transcripts import alone
from sottovoce.auditing.subjects.configurations import Configuration
from sottovoce.learning import Plan
from sottovoce.privacy import Guarantee, LocalDP, NoiseSource, PrivacyStatement
from sottovoce.studies import Study

__all__ = ["Studied", "StudyConfiguration"]


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

    def __call__(self, seed: int, noise: NoiseSource) -> "Studied":
        """Return a seat at a fresh study."""
        return Studied(self.configuration, seed, noise)


class Studied:
    """A seat at a study: what an adversary reads of it are its actions, its status, and what it exports."""

    def __init__(self, configuration: Configuration, seed: int, source: NoiseSource) -> None:
        if isinstance(configuration.privacy, LocalDP):
            raise ValueError(
                "studies of privatised reports are not audited: what is released are the reports themselves"
            )
        self._folder = tempfile.TemporaryDirectory(prefix="sottovoce-audit-")
        self._source, self._patient = source, configuration.patience is None
        self.loss_range = configuration.loss_range
        self.released: list[Floats] = []
        self._study = self._open(
            domain=configuration.domain,
            horizon=configuration.horizon,
            loss_range=configuration.loss_range,
            privacy=configuration.privacy,
            patience=configuration.patience,
            seed=seed,
            **{**configuration.facts(), **configuration.planned},
        )

    def _open(self, **options: Any) -> Study:
        url = f"sqlite:///{Path(self._folder.name) / 'study.db'}"
        return Study.open(url, name="audit", noise=self._source, **options)

    @property
    def remaining(self) -> int | None:
        """Events that are left."""
        return self._study.remaining

    @property
    def closed(self) -> int:
        """How many rounds are closed."""
        return self._study.round

    @property
    def patient(self) -> bool:
        """Whether rounds wait for ever."""
        return self._patient

    @property
    def privacy(self) -> PrivacyStatement:
        """What the study promises."""
        return self._study.privacy

    @property
    def plan(self) -> Plan:
        """The plan in force."""
        return self._study.plan

    def ask(self, size: int | None) -> Any:
        """Return so many actions, or the rest of the round."""
        if size == 1:
            return alone(self._study.ask())
        return self._study.ask_round() if size is None else self._study.ask(size)

    def tell(self, ids: Any, losses: Any) -> None:
        """Tell losses."""
        self._study.tell(ids, losses)

    def forget(self, ids: Any) -> None:
        """Say that losses will not come."""
        self._study.forget(ids)

    def renew(self, how: str) -> None:
        """Close the study, and open it again: as the same life, or as one that was put back from a backup."""
        self._study.close()
        self._study = self._open(restored=how == "restored")

    def close(self) -> None:
        """Read what was released, close the study, and delete its file."""
        rounds = self._study.export()["rounds"]
        self.released = [np.array(one["released"], dtype=np.float64) for one in rounds if "released" in one]
        self._study.close()
        self._folder.cleanup()
