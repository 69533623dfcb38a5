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

from sottovoce.service.metrics import Metrics, metrics_folder
from sottovoce.service.request_log import RequestLog


def samples(page):
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(page.decode())
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def test_counts_of_one_worker():
    metrics = Metrics()
    for seconds in (0.0004, 0.003, 0.003, 30.0):
        metrics.count_request("/studies/{name}/tell", "POST", 200, seconds)
    metrics.count_request("/studies/{name}/tell", "POST", 429, 0.0001)
    metrics.count(asked=5)
    metrics.count(asked=7, told=0, dropped=1)
    page, kind = metrics.page()
    assert kind.startswith("text/plain")
    found = samples(page)
    route = ("route", "/studies/{name}/tell")
    assert found["sottovoce_requests_total", ("method", "POST"), route, ("status", "200")] == 4
    assert found["sottovoce_requests_total", ("method", "POST"), route, ("status", "429")] == 1
    assert found["sottovoce_request_seconds_bucket", ("le", "0.001"), route] == 2
    assert found["sottovoce_request_seconds_bucket", ("le", "0.005"), route] == 4
    assert found["sottovoce_request_seconds_bucket", ("le", "10.0"), route] == 4
    assert found["sottovoce_request_seconds_count", route] == 5
    assert found["sottovoce_events_total", ("kind", "asked")] == 12
    assert found["sottovoce_events_total", ("kind", "told")] == 0
    assert found["sottovoce_events_total", ("kind", "dropped")] == 1


def test_two_services_in_one_process_count_apart():
    one, other = Metrics(), Metrics()
    one.count(asked=5)
    assert samples(other.page()[0])["sottovoce_events_total", ("kind", "asked")] == 0


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


def test_workers_are_added_up_also_those_that_were_killed():
    with metrics_folder():
        workers = [
            subprocess.Popen([sys.executable, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for _ in range(3)
        ]
        try:
            for one in workers:
                assert one.stdout.readline() == b"ready\n"
            totals = [_totals(_asked(one)) for one in workers]
            assert totals == [Counter(asked=300, requests=3)] * 3
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


def test_the_folder_is_there_for_as_long_as_it_is_named(monkeypatch):
    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR", raising=False)
    with metrics_folder() as folder:
        assert os.environ["PROMETHEUS_MULTIPROC_DIR"] == folder
        assert os.stat(folder).st_mode & 0o777 == 0o700
    assert not os.path.exists(folder)
    assert "PROMETHEUS_MULTIPROC_DIR" not in os.environ
