"""`study.stop()`, as callbacks and samplers call it: Optuna allows it within its own loop only, and this is another."""

import threading
import weakref
from types import TracebackType
from typing import Any

import optuna

_LOCK = threading.Lock()  # taken and released on one line with what it guards: an interrupt comes between lines


class _Stop:
    """Stands in for `study.stop` as long as any loop runs on that study; as in Optuna's, all of them stop.

    One that was left behind, by an interrupt or in a pickled copy of a study, has no loops, and is Optuna's own again.

    Parameters
    ----------
    study
        The study.
    """

    def __init__(self, study: optuna.Study) -> None:
        self._study = study
        self.loops: weakref.WeakSet[Loop] = weakref.WeakSet()
        self.wanted = False

    def __call__(self) -> None:
        if self.loops:
            self.wanted = True
        else:
            type(self._study).stop(self._study)

    def __reduce__(self) -> Any:
        return _Stop, (self._study,)


class Loop:
    """A loop over trials of a study, which `study.stop()` ends; use it as a context.

    Parameters
    ----------
    study
        The study.
    """

    def __init__(self, study: optuna.Study) -> None:
        self._study = study
        self._stop = _Stop(study)

    @property
    def stopped(self) -> bool:
        """Whether somebody has called `study.stop()`."""
        return self._stop.wanted

    def __enter__(self) -> "Loop":
        with _LOCK: return self._begin()  # noqa: E701  # fmt: skip

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with _LOCK: self._end()  # noqa: E701  # fmt: skip

    def _begin(self) -> "Loop":
        found = vars(self._study).get("stop")
        if isinstance(found, _Stop) and found.loops:  # of another thread
            self._stop = found
        self._stop.loops.add(self)
        vars(self._study)["stop"] = self._stop
        return self

    def _end(self) -> None:
        self._stop.loops.discard(self)
        if not self._stop.loops:
            vars(self._study).pop("stop", None)
