"""The service beside an empty FastAPI endpoint with the same payloads and workers, in one run, durable on PostgreSQL.

Rates of single asks and tells, and of blocks of 256, by connections that wait for one answer before they send again;
the median time of an answer at half of the service's rate, beside the empty endpoint's at the same rate; and whether
the time of an answer to a tell depends on the loss. The load, the workers and the database share the machine.
"""

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from scipy.stats import ks_2samp

import sottovoce as sv
from benchmarks.harness import show
from benchmarks.processes import options, server
from sottovoce.service.keys import KeyStore
from sottovoce.service.store import ServiceStore

BLOCK = 256
EMPTY = """
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()


class Tell(BaseModel):
    id: str | None = None
    loss: float | None = None
    ids: list[str] | None = None
    losses: list[float] | None = None


class Ask(BaseModel):
    size: int | None = None
    x: str = "dense"


@app.post("/studies/{name}/ask")
async def ask(name: str, body: Ask):
    one = {"id": "1.0.0.9cd230f79b25", "chosen": [1, 5, 7, 8, 9], "x": [0.0] * 20, "wants_loss": True}
    return one if body.size is None else {"actions": [one] * body.size}


@app.post("/studies/{name}/tell")
async def tell(name: str, body: Tell):
    return {"recorded": 1, "already": 0, "dropped": 0}
"""


# ---------------------------------------------------------------------- servers


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextmanager
def running(command, port, path="/health", **more):
    """Run a server until the block is over."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}  # the access log is written, and thrown away
    process = subprocess.Popen(command, env={**os.environ, **more}, **quiet)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=1):
                    break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{command} does not serve") from None
                time.sleep(0.05)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


@contextmanager
def empty(folder, workers):
    """Serve the empty endpoint."""
    Path(folder, "empty_endpoint.py").write_text(EMPTY)
    port = free_port()
    how = ["--port", str(port), "--workers", str(workers), "--loop", "uvloop", "--http", "httptools"]
    quiet = ["--no-access-log", "--log-level", "warning", "--app-dir", str(folder)]
    with running([sys.executable, "-m", "uvicorn", "empty_endpoint:app", *how, *quiet], port):
        yield port


@contextmanager
def service(storage, workers):
    """Serve studies, with a key."""
    ring = KeyStore(ServiceStore(storage))
    _, key = ring.create(["ask", "tell"])
    ring.close()
    port = free_port()
    how = ["--port", str(port), "--workers", str(workers), "--rate", "1e9"]
    with running([sys.executable, "-m", "sottovoce", "serve", "--storage", storage, *how], port):
        yield port, key


# ---------------------------------------------------------------------- load


def request(port, path, body, key=None):
    text = json.dumps(body).encode()
    lines = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Content-Type: application/json"]
    lines += [f"Authorization: Bearer {key}"] if key else []
    return "\r\n".join([*lines, f"Content-Length: {len(text)}", "", ""]).encode() + text


async def exchange(reader, writer, message):
    """Send a request on a connection that stays; return the status and the body."""
    writer.write(message)
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    return int(head[9:12]), await reader.readexactly(length)


async def closed_loop(port, messages, connections):
    """Send all messages over so many connections, each waiting for its answer; return answers and the seconds."""
    pending = iter(messages)
    answers = []

    async def connection():
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
        for message in pending:
            status, body = await exchange(reader, writer, message)
            assert status == 200, body
            answers.append(body)
        writer.close()

    start = time.perf_counter()
    await asyncio.gather(*(connection() for _ in range(connections)))
    return answers, time.perf_counter() - start


async def open_loop(port, messages, rate, connections):
    """Send messages at a steady rate; return the seconds that each answer took from when it was due, and answers."""
    free = asyncio.Queue()
    for _ in range(connections):
        free.put_nowait(await asyncio.open_connection("127.0.0.1", port, limit=1 << 24))
    took, bodies = [], []

    async def one(message, due):
        pair = await free.get()
        status, body = await exchange(*pair, message)
        assert status == 200, body
        took.append(time.perf_counter() - due)
        bodies.append(body)
        free.put_nowait(pair)

    start, tasks = time.perf_counter(), []
    for number, message in enumerate(messages):
        due = start + number / rate
        if (wait := due - time.perf_counter()) > 0:
            await asyncio.sleep(wait)
        tasks.append(asyncio.create_task(one(message, due)))
    await asyncio.gather(*tasks)
    while not free.empty():
        free.get_nowait()[1].close()
    return np.median(took), bodies


def run(work):
    import uvloop

    return uvloop.run(work)


# ---------------------------------------------------------------------- what is measured


def asked(bodies):
    found = [json.loads(body) for body in bodies]
    return [one["id"] for answer in found for one in answer.get("actions", [answer])]


def singles(port, count, connections, key=None, ids=None):
    """Return single asks and tells a second, and what was asked."""
    asks = [request(port, "/studies/spring/ask", {}, key)] * count
    bodies, ask_seconds = run(closed_loop(port, asks, connections))
    ids = ids or asked(bodies)
    tells = [request(port, "/studies/spring/tell", {"id": one, "loss": 0.5}, key) for one in ids]
    _, tell_seconds = run(closed_loop(port, tells, connections))
    return count / ask_seconds, len(tells) / tell_seconds


def blocks(port, count, connections, key=None):
    """Return events a second, asked and told in blocks."""
    asks = [request(port, "/studies/spring/ask", {"size": BLOCK, "x": "none"}, key)] * count
    bodies, ask_seconds = run(closed_loop(port, asks, connections))
    losses = np.linspace(0, 1, BLOCK).tolist()
    tells = [request(port, "/studies/spring/tell", {"ids": asked([body]), "losses": losses}, key) for body in bodies]
    _, tell_seconds = run(closed_loop(port, tells, connections))
    return BLOCK * count / (ask_seconds + tell_seconds)


def latency(port, rate, seconds, connections, key=None):
    """Return the median seconds of asks and of tells at a rate."""
    count = int(rate * seconds)
    asks = [request(port, "/studies/spring/ask", {}, key)] * count
    ask, bodies = run(open_loop(port, asks, rate, connections))
    tells = [request(port, "/studies/spring/tell", {"id": one, "loss": 0.5}, key) for one in asked(bodies)]
    tell, _ = run(open_loop(port, tells, rate, connections))
    return ask, tell


def timing(port, pairs, key):
    """Return medians of answers to a loss of 0 and to one of 1, told in turn, and how likely such a difference is."""
    bodies, _ = run(closed_loop(port, [request(port, "/studies/spring/ask", {}, key)] * 2 * pairs, 8))
    took = {0.0: [], 1.0: []}

    async def tell():
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        order = np.random.default_rng(0).permutation(np.repeat([0.0, 1.0], pairs))
        for one, loss in zip(asked(bodies), order.tolist(), strict=True):
            message = request(port, "/studies/spring/tell", {"id": one, "loss": loss}, key)
            start = time.perf_counter()
            await exchange(reader, writer, message)
            took[loss].append(time.perf_counter() - start)
        writer.close()

    run(tell())
    return np.median(took[0.0]), np.median(took[1.0]), ks_2samp(took[0.0], took[1.0]).pvalue


def main(arguments=()):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--count", type=int, default=6000, help="single requests of a kind")
    parser.add_argument("--pairs", type=int, default=3000, help="losses of 0, and of 1, whose answers are timed")
    parser.add_argument("--rounds", type=int, default=3, help="in turn; the median counts")
    given = parser.parse_args(list(arguments))
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as (storage, *_):
        sv.Study.open(storage, name="spring", **options()).close()
        with empty(folder, given.workers) as bare, service(storage, given.workers) as (port, key):
            report(given, bare, port, key)


def report(given, bare, port, key):
    for count in (500, 500):  # both are warm, and the study reserves as much as it will
        singles(port, count, given.connections, key)
        singles(bare, count, given.connections)
    ours, theirs = [], []
    for _ in range(given.rounds):
        theirs.append(singles(bare, given.count, given.connections))
        ours.append(singles(port, given.count, given.connections, key))
    (ask, tell), (bare_ask, bare_tell) = np.median(ours, axis=0), np.median(theirs, axis=0)
    show(
        "service",
        f"single requests a second, {given.workers} workers, {given.connections} connections",
        ["", "service", "empty endpoint", "ratio"],
        [
            ["ask", f"{ask:,.0f}", f"{bare_ask:,.0f}", f"{ask / bare_ask:.2f}"],
            ["tell", f"{tell:,.0f}", f"{bare_tell:,.0f}", f"{tell / bare_tell:.2f}"],
        ],
    )
    rate = min(ask, tell) / 2
    mine, other = latency(port, rate, 3, given.connections, key), latency(bare, rate, 3, given.connections)
    show(
        "service_latency",
        f"median milliseconds at {rate:,.0f} requests a second",
        ["", "service", "empty endpoint", "above"],
        [
            [kind, f"{1e3 * one:.2f}", f"{1e3 * two:.2f}", f"{1e3 * (one - two):.2f}"]
            for kind, one, two in zip(("ask", "tell"), mine, other, strict=True)
        ],
    )
    events = np.median([blocks(port, 100, 4, key) for _ in range(given.rounds)])
    print(f"\nblocks of {BLOCK}, asked and told: {events:,.0f} events a second")
    for _ in range(4):
        low, high, chance = timing(port, given.pairs, key)
        print(f"median answer to a loss of 0: {1e3 * low:.3f} ms, of 1: {1e3 * high:.3f} ms (p = {chance:.2f})")


if __name__ == "__main__":
    main(sys.argv[1:])
