"""Metrics for Prometheus: counts and times of requests, by route; of events, by what became of them. Nothing private.

No label is a study, a key or anything else that somebody can make up: there are as many series as there are routes. How
many events were asked and told is public (`docs/explanation/threat-model.md`); what was told is not, and is not here.

Several workers write to a folder, a file for each; whichever is asked adds them up. prometheus_client decides when it
is first imported whether it does so, by a variable of the environment: so it is imported when `Metrics` is made.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_EVENTS = ("asked", "told", "already", "dropped", "forgotten")


@contextmanager
def metrics_folder() -> Iterator[str]:
    """Name a folder for what worker processes share that are started meanwhile; remove it at the end."""
    with tempfile.TemporaryDirectory(prefix="sottovoce-metrics-") as folder:
        before = os.environ.get(_FOLDER)
        os.environ[_FOLDER] = folder
        try:
            yield folder
        finally:
            if before is None:
                os.environ.pop(_FOLDER, None)
            else:
                os.environ[_FOLDER] = before


def workers_folder() -> str | None:
    """Return the folder that the workers of a service share; None if there is one worker."""
    return os.environ.get(_FOLDER)


class Metrics:
    """What a worker counts; safe for threads.

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.count_request("/studies/{name}/ask", "POST", 200, 0.003)
    >>> metrics.count_events("asked", 256)
    >>> 'sottovoce_events_total{kind="asked"} 256.0' in metrics.page()[0].decode()
    True
    """

    def __init__(self) -> None:
        import prometheus_client as prometheus

        self._prometheus = prometheus
        self._folder = workers_folder()
        self._registry = prometheus.CollectorRegistry()
        here: dict[str, Any] = {"registry": self._registry}
        self._requests = prometheus.Counter(
            "sottovoce_requests", "Requests that were answered.", ("route", "method", "status"), **here
        )
        self._times = prometheus.Histogram(
            "sottovoce_request_seconds", "How long requests took.", ("route",), buckets=_SECONDS, **here
        )
        self._events = prometheus.Counter("sottovoce_events", "Events, by what became of them.", ("kind",), **here)
        self._of_request: dict[tuple[str, str, int], tuple[Any, Any]] = {}
        self._of_events = {kind: self._events.labels(kind) for kind in _EVENTS}

    def count_request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request.

        Parameters
        ----------
        route, method, status
            The template of its route, and one of a few words and numbers.
        seconds
            How long it took.
        """
        found = self._of_request.get((route, method, status))
        if found is None:  # finding series by their labels takes longer than counting
            found = self._requests.labels(route, method, str(status)), self._times.labels(route)
            self._of_request[route, method, status] = found
        found[0].inc()
        found[1].observe(seconds)

    def count_events(self, kind: str, count: int) -> None:
        """Count events.

        Parameters
        ----------
        kind
            "asked", "told", "already", "dropped" or "forgotten".
        count
            How many.
        """
        if count:
            self._of_events[kind].inc(count)

    def count_told(self, recorded: int, already: int, dropped: int) -> None:
        """Count losses that were told.

        Parameters
        ----------
        recorded, already, dropped
            How many were recorded, were on record before, and came too late or were not wanted.
        """
        self.count_events("told", recorded)
        self.count_events("already", already)
        self.count_events("dropped", dropped)

    def page(self) -> tuple[bytes, str]:
        """Return what Prometheus reads, of all workers together, and its content type; reads files, so in a thread."""
        registry = self._registry
        if self._folder is not None:
            from prometheus_client import multiprocess

            registry = self._prometheus.CollectorRegistry()
            multiprocess.MultiProcessCollector(registry, self._folder)  # type: ignore[no-untyped-call]
        return self._prometheus.generate_latest(registry), self._prometheus.CONTENT_TYPE_LATEST
