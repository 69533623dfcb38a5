"""The service as something to audit: its application, called in this process, and every answer that it gives.

What HTTP shows is compared like what Python shows: bodies, their lengths and headers, of calls and of every page.
"""

import asyncio
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from httpx2 import ASGITransport, AsyncClient, Response

from sottovoce._arrays import Floats
from sottovoce.auditing import Configuration
from sottovoce.auditing.playing.public_views import plain
from sottovoce.auditing.playing.transcripts import disjoint_items
from sottovoce.auditing.subjects.configurations import scratch_folder
from sottovoce.domains import Hypersimplex
from sottovoce.domains.specification import specify
from sottovoce.learning import Actions
from sottovoce.privacy import NoiseSource, PureDP, SimulatedNoise
from sottovoce.service.app import create_app
from sottovoce.service.settings import Settings

ADDRESSES = (
    "/studies",
    "/metrics",
    "/",
    *(f"/dashboard/studies/audit{part}" for part in ("", "/statement")),
    *(f"/studies/audit/{what}" for what in ("status", "recommend", "plan", "posterior", "statement", "outstanding")),
    *(f"/studies/audit/{what}" for what in ("channel", "definition", "export", "fit-check", "privacy")),
)
"""What is looked at: all that there is to be read of a study."""

_COUNTED = ("sottovoce_events", "sottovoce_stud")  # of the metrics; others are of time, and of requests
_TRIES = 100
_HEADERS = ("content-type", "content-length", "retry-after", "cache-control")


@dataclass(frozen=True, eq=False)
class ServiceConfiguration(Configuration):
    """A fresh service with one study, in a file that is deleted in the end; all else as of a `Configuration`.

    Parameters
    ----------
    schedules
        How losses may arrive.
    """

    schedules: tuple[str, ...] | None = ("block", "single")
    kind, by_runs = "study", False  # the study is run; what is looked for here is what answers show besides

    def __call__(self, seed: int, noise: NoiseSource | None) -> Any:
        """Return a harness for a fresh service."""
        return Served(self, seed, noise)


def service_shipped(epsilon: float = 1.0) -> list[ServiceConfiguration]:
    """Return small configurations of a service.

    Parameters
    ----------
    epsilon
        Of the guarantee.
    """
    pure, choices = PureDP(epsilon), {"exploration": "posterior", "probes": 2, "least_events": 2}
    small = ServiceConfiguration(Hypersimplex(4, 2), pure, 8, choices, losses="linear", integral=True)
    items = ServiceConfiguration(Hypersimplex(list("abcde"), 3), pure, 130, {"probes": 2}, (-1.0, 0.0), integral=True)
    return [
        replace(small, label="service, probe-sums"),
        replace(items, label="service by item, item-sums", feedback="items", most=1.0),
    ]


class Served:
    """A harness for a service.

    Parameters
    ----------
    configuration
        Of the study.
    seed
        Of its public coins.
    source
        Of its noise.
    """

    unsettled = ("/metrics",)  # which count the calls that read them

    def __init__(self, configuration: Configuration, seed: int, source: NoiseSource | None) -> None:
        if not isinstance(configuration.privacy, PureDP):
            raise ValueError(f"privacy must be pure here, got {configuration.privacy!r}")
        self.plan, self.loss_range = configuration.plan, configuration.loss_range
        self.privacy = configuration.optimizer(0, SimulatedNoise(0)).privacy
        self._width = configuration.domain.most_chosen if configuration.feedback == "items" else None
        self._folder = scratch_folder()
        self.own: dict[Any, str] = {self._folder.name: "<folder>"}
        self.released: list[Floats] = []
        self._answers: list[Any] = []
        storage = f"sqlite:///{Path(self._folder.name) / 'service.db'}"
        app = create_app(Settings(storage, dev=True, simulated=source))
        self._loop, self._life = asyncio.Runner(), app.router.lifespan_context(app)
        self._loop.run(self._life.__aenter__())
        self._client = AsyncClient(transport=ASGITransport(app), base_url="http://127.0.0.1")
        choices = dict(configuration.choices)
        same = ("horizon", "loss_range", "losses", "integral", "feedback", "most", "patience")
        self._call(
            "/studies",
            name="audit",
            domain=specify(configuration.domain),
            privacy={"epsilon": configuration.privacy.epsilon, "contributions": configuration.privacy.contributions},
            exploration=choices.pop("exploration", None),
            choices=choices,
            seed=seed,
            **{name: getattr(configuration, name) for name in same},
        )
        self.own[self._exported()[0]["configuration"]["identity"]] = "<identity>"

    @property
    def remaining(self) -> int:
        """Events that are left."""
        return int(self._get("/studies/audit/status").json()["remaining"])

    @property
    def closed(self) -> int:
        """How many rounds are closed."""
        return int(self._get("/studies/audit/status").json()["round"])

    def ask(self, size: int | None) -> Any:
        """Return so many actions, or as many as a small round has."""
        count = min(65 if self._width else 4, self.remaining) if size is None else size
        found = self._call("/studies/audit/ask", size=count)["actions"]
        wanted = np.array([one["wants_loss"] for one in found])
        return Actions(np.array([one["id"] for one in found]), np.array([one["x"] for one in found]), wanted)

    def tell(self, ids: Any, losses: Any) -> None:
        """Tell losses; where each item has one, of items that low losses and high ones have not in common."""
        if self._width:
            losses = disjoint_items(losses, self._width, self.loss_range)
        told, given = np.asarray(ids).tolist(), np.asarray(losses).tolist()
        self._call(
            "/studies/audit/tell", **({"ids": told, "losses": given} if np.ndim(ids) else {"id": told, "loss": given})
        )

    def forget(self, ids: Any) -> None:
        """Say that losses will not come."""
        self._call("/studies/audit/forget", ids=np.atleast_1d(ids).tolist())

    def look(self) -> dict[str, Any]:
        """Return the answers of all addresses, and of the calls before; once nothing is left to be erased."""
        for _ in range(_TRIES):
            if not any(one["erasure_pending"] for one in self._get("/studies").json()["studies"]):
                break
            self._get("/studies/audit/status")  # which writes down what was erased
        seen = {address: _answered(self._get(address)) for address in ADDRESSES}
        return seen | {"an answer": plain(list(self._answers))}

    def close(self) -> None:
        """Read what was released, stop the service, and delete its file."""
        rounds = self._exported()[1:]
        released = (one["released"] + one.get("squares", []) for one in rounds if "released" in one)
        self.released = [np.array(one, dtype=np.float64) for one in released]
        self._loop.run(self._client.aclose())
        self._loop.run(self._life.__aexit__(None, None, None))
        self._loop.close()
        self._folder.cleanup()

    def _call(self, address: str, **body: Any) -> Any:
        kind = {"content-type": "application/json"}
        found = self._loop.run(self._client.post(address, content=json.dumps(body), headers=kind))
        self._answers.append((address, _answered(found)))
        if found.status_code >= 400:
            raise ValueError(found.text)
        return found.json()

    def _get(self, address: str) -> Response:
        return self._loop.run(self._client.get(address))

    def _exported(self) -> list[Any]:
        return [json.loads(line) for line in self._get("/studies/audit/export").text.splitlines()]


def _answered(found: Response) -> Any:
    """Return what is seen of an answer: all but how long it took."""
    headers = {name: found.headers.get(name) for name in _HEADERS}
    lines = found.text.splitlines()
    if found.request.url.path == "/metrics":
        lines = [line for line in lines if line.startswith(_COUNTED) and "_created" not in line]
        del headers["content-length"]
    return plain((found.status_code, headers, "\n".join(lines)))
