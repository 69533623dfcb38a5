"""Metrics: right totals over workers, also over those that were killed, and no label that somebody can make up."""

import asyncio
import os
import subprocess
import sys
from collections import Counter

from fastapi import FastAPI
from httpx2 import ASGITransport, AsyncClient
from prometheus_client.parser import text_string_to_metric_families
from starlette.responses import Response

from sottovoce.service.metrics import METRICS_FOLDER, Metrics
from sottovoce.service.request_log import RequestLog


def samples(page):
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(page.decode())
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def test_counts_of_one_worker():
    metrics, route = Metrics(), ("route", "/studies/{name}/tell")
    for seconds in (0.0004, 0.003, 0.003, 30.0):
        metrics.count_request(route[1], "POST", 200, seconds)
    metrics.count(asked=5)
    metrics.count(asked=7, told=0, dropped=1)
    page, kind = metrics.page()
    assert kind.startswith("text/plain")
    found = samples(page)
    assert found["sottovoce_requests_total", ("method", "POST"), route, ("status", "200")] == 4
    buckets = [
        found["sottovoce_request_seconds_bucket", ("le", at), route] for at in ("0.001", "0.005", "10.0", "+Inf")
    ]
    assert buckets == [1, 3, 3, 4]
    events = {kind: found["sottovoce_events_total", ("kind", kind)] for kind in ("asked", "told", "dropped")}
    assert events == {"asked": 12, "told": 0, "dropped": 1}


def test_what_is_made_up_makes_no_series():
    metrics = Metrics()
    app = FastAPI()

    @app.get("/studies/{name:path}/status")
    async def status(name: str):
        return Response("fine")

    app.add_middleware(RequestLog, metrics=metrics, delay=0)

    async def calls():
        async with AsyncClient(transport=ASGITransport(app), base_url="http://x") as client:
            for n in range(50):
                await client.get(f"/studies/spring-{n}/status?x={n}", headers={"X-A": str(n)})
                await client.get(f"/nowhere/{n}")
                await client.request(f"METHOD{n}", "/studies/spring/status")
                await client.post(f"/studies/{n}/status")

    asyncio.run(calls())
    found = samples(metrics.page()[0])
    counted = {key[1:]: value for key, value in found.items() if key[0] == "sottovoce_requests_total"}
    here, nowhere = ("route", "/studies/{name}/status"), ("route", "-")
    assert counted == {
        (("method", "GET"), here, ("status", "200")): 50,
        (("method", "GET"), nowhere, ("status", "404")): 50,
        (("method", "OTHER"), here, ("status", "405")): 50,
        (("method", "POST"), here, ("status", "405")): 50,
    }
    assert {name for key in found for name, _ in key[1:]} == {"kind", "le", "method", "route", "status"}


WORKER = """
import sys
from sottovoce.service.metrics import Metrics
metrics = Metrics()
metrics.count(asked=100)
metrics.count_request("/studies/{name}/ask", "POST", 200, 0.003)
print("ready", flush=True)
for line in sys.stdin:
    sys.stdout.buffer.write(metrics.page()[0] + b"END\\n")
    sys.stdout.flush()
"""


def test_workers_are_added_up_also_those_that_were_killed(tmp_path):
    told = {**os.environ, METRICS_FOLDER: str(tmp_path)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    workers = [subprocess.Popen([sys.executable, "-c", WORKER], env=told, **pipes) for _ in range(3)]
    try:
        for one in workers:
            assert one.stdout.readline() == b"ready\n"
        assert [_totals(_asked(one)) for one in workers] == [Counter(asked=300, requests=3)] * 3
        workers[1].kill()
        workers[1].wait()
        for one in (workers[0], workers[2]):  # what it counted has happened
            assert _totals(_asked(one)) == Counter(asked=300, requests=3)
    finally:
        for one in workers:
            one.kill()
            one.communicate()


def _asked(worker):
    worker.stdin.write(b"\n")
    worker.stdin.flush()
    return b"".join(iter(worker.stdout.readline, b"END\n"))


def _totals(page):
    found = samples(page)
    route = ("route", "/studies/{name}/ask")
    return Counter(
        asked=found["sottovoce_events_total", ("kind", "asked")],
        requests=found["sottovoce_requests_total", ("method", "POST"), route, ("status", "200")],
    )
