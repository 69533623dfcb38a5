"""Metrics for Prometheus: counts and times of requests, by route; of events, by what became of them. Nothing private.

No label is a study, a key or anything else that somebody can make up: there are as many series as there are routes. How
many events were asked and told is public (`docs/explanation/threat-model.md`); what was told is not, and is not here.

Several workers write to a folder, a file for each; whichever is asked adds them up. prometheus_client decides when it
is first imported whether it does so, by a variable of the environment: so it is imported when `Metrics` is made.
"""

import os
from typing import Any

METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable of the environment that names the folder."""

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_EVENTS = ("asked", "told", "already", "dropped", "forgotten")


class Metrics:
    """What a worker counts; safe for threads.

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.count_request("/studies/{name}/ask", "POST", 200, 0.003)
    >>> metrics.count(asked=256)
    >>> 'sottovoce_events_total{kind="asked"} 256.0' in metrics.page()[0].decode()
    True
    """

    def __init__(self) -> None:
        import prometheus_client as prometheus

        self._prometheus = prometheus
        self._folder = os.environ.get(METRICS_FOLDER)
        self._registry = prometheus.CollectorRegistry()
        here: dict[str, Any] = {"registry": self._registry}
        self._requests = prometheus.Counter(
            "sottovoce_requests", "Requests that were answered.", ("route", "method", "status"), **here
        )
        self._times = prometheus.Histogram(
            "sottovoce_request_seconds", "How long requests took.", ("route",), buckets=_SECONDS, **here
        )
        events = prometheus.Counter("sottovoce_events", "Events, by what became of them.", ("kind",), **here)
        self._events = {kind: events.labels(kind) for kind in _EVENTS}  # which are there from the beginning, as 0

    def count_request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request.

        Parameters
        ----------
        route, method, status
            The template of its route, and one of a few words and numbers.
        seconds
            How long it took.
        """
        self._requests.labels(route, method, str(status)).inc()
        self._times.labels(route).observe(seconds)

    def count(self, **events: int) -> None:
        """Count events: how many were `asked`, `told`, told `already`, `dropped` or `forgotten`."""
        for kind, count in events.items():
            if count:
                self._events[kind].inc(count)

    def page(self) -> tuple[bytes, str]:
        """Return what Prometheus reads, of all workers together, and its content type; reads files, so in a thread."""
        registry = self._registry
        if self._folder is not None:
            from prometheus_client import multiprocess

            registry = self._prometheus.CollectorRegistry()
            multiprocess.MultiProcessCollector(registry, self._folder)  # type: ignore[no-untyped-call]
        return self._prometheus.generate_latest(registry), self._prometheus.CONTENT_TYPE_LATEST
