"""The dashboard with a hundred studies, half of them in the midst of their rounds: how long a reader waits for a page.

The application runs in this process, and is asked through its whole stack, without a network or a browser.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

import httpx2
import numpy as np

import sottovoce as sv
from benchmarks.harness import show
from benchmarks.processes import server
from sottovoce.service.app import create_app
from sottovoce.service.settings import Settings

NAMES = [f"item {i}" for i in range(20)]


def fill(url, studies):
    """Make studies; every second one has a few rounds, and losses that it waits for."""
    coins = np.random.default_rng(1)
    for number in range(studies):
        with sv.Study.open(
            url,
            name=f"study {number:03}",
            domain=sv.domains.Hypersimplex(NAMES, k=5),
            horizon=100_000,
            loss_range=(0.0, 1.0),
            privacy=sv.PureDP(1.0),
            losses="linear",
        ) as study:
            for _ in range(4 * (number % 2)):
                actions = study.ask_round()
                clicks = coins.random(len(actions)) < actions.x @ np.linspace(0.02, 0.2, 20)
                study.tell(actions.ids, clicks.astype(float))
            if number % 2:
                study.ask(64)


async def measure(url, repeats):
    """Return seconds: of the first look at the list, of later ones, of one that finds nothing new; and of a study."""
    app = create_app(Settings(storage=url, dev=True))
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:

        async def timed(path, **headers):
            begun = time.perf_counter()
            answer = await client.get(path, headers=headers)
            assert answer.status_code in (200, 304), answer.status_code
            return time.perf_counter() - begun, answer

        async def median(path, **headers):
            return statistics.median([(await timed(path, **headers))[0] for _ in range(repeats)])

        first, page = await timed("/")
        assert page.text.count("data-key=") > 1
        tag = page.headers["etag"]
        study = "/dashboard/studies/study%20099"
        opened, page = await timed(study)
        found = {
            "list, the first time": first,
            "list": await median("/"),
            "list, unchanged": await median("/", **{"If-None-Match": tag}),
            "study, the first time": opened,
            "study": await median(study),
            "study, unchanged": await median(study, **{"If-None-Match": page.headers["etag"]}),
        }
    await app.state.context.close()
    return found


def main(studies=100, repeats=20):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, storage in (
            ("SQLite", nullcontext(f"sqlite:///{Path(folder) / 'studies.db'}")),
            ("PostgreSQL", server(Path(folder))),
        ):
            with storage as where:
                if where is None:
                    continue  # there is no PostgreSQL here
                url = where if isinstance(where, str) else where[0]
                fill(url, studies)
                found = asyncio.run(measure(url, repeats))
            rows += [(name, what, f"{1e3 * seconds:.1f} ms") for what, seconds in found.items()]
    show("dashboard", f"The dashboard with {studies} studies", ["storage", "page", "time"], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=20)
    main(**vars(parser.parse_args()))
