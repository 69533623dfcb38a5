"""`study.stop()`, as callbacks and samplers call it: Optuna allows it within its own loop only, and this is another."""

import threading
from types import TracebackType

import optuna

__all__ = ["Loop"]

_LOCK = threading.Lock()


class _Stop:
    """Stands in for `study.stop` as long as any loop runs on that study; as in Optuna's, all of them stop."""

    def __init__(self) -> None:
        self.loops = 0
        self.wanted = False

    def __call__(self) -> None:
        self.wanted = True


class Loop:
    """A loop over trials of a study, which `study.stop()` ends; use it as a context.

    Parameters
    ----------
    study
        The study.
    """

    def __init__(self, study: optuna.Study) -> None:
        self._parts = vars(study)
        self._stop = _Stop()

    @property
    def stopped(self) -> bool:
        """Whether somebody has called `study.stop()`."""
        return self._stop.wanted

    def __enter__(self) -> "Loop":
        with _LOCK:
            found = self._parts.setdefault("stop", self._stop)
            if isinstance(found, _Stop):  # else somebody has put theirs there, and means it
                self._stop = found
                self._stop.loops += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with _LOCK:
            self._stop.loops -= 1
            if self._stop.loops <= 0 and self._parts.get("stop") is self._stop:
                del self._parts["stop"]
