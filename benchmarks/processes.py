"""Many processes on one study, beside bare inserts (`pgbench`) and bare commits in one run; and many of everything.

Pairs of `ask` and `tell` a second, one at a time and in blocks of 256, by 1, 2, 4 and 8 processes, on a PostgreSQL
server of the run's own and on SQLite. Then what opening a long study, creating the thousandth, and a million open ids
cost.
"""

import argparse
import glob
import json
import os
import pwd
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import sottovoce as sv
from benchmarks.harness import seconds, show

PROCESSES = (1, 2, 4, 8)
BLOCK = 256


def options(horizon=10_000_000):
    return {
        "domain": sv.domains.Hypersimplex(20, 5),
        "horizon": horizon,
        "loss_range": (0.0, 1.0),
        "privacy": sv.PureDP(epsilon=1.0),
        "losses": "linear",
        "integral": True,
    }


# ---------------------------------------------------------------------- workers


def work(study, size):
    """Return one pair of calls."""
    if size == 1:

        def pair():
            study.tell(study.ask().id, 0.5)
    else:
        losses = np.linspace(0.0, 1.0, size)

        def pair():
            study.tell(study.ask(size).ids, losses)

    return pair


def commit(path):
    """Return one bare commit of SQLite, as durable as a study's."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=60)
    connection.execute("PRAGMA synchronous = FULL")

    def once():
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE bare SET value = value + 1")
        connection.execute("COMMIT")

    return once


def worker(kind, place, size, span):
    """Do the same again and again, once told to; print how many in a second, and the longest."""
    size, span = int(size), float(span)
    study = None if kind == "commits" else sv.Study.open(place, name=kind)
    once = commit(place) if study is None else work(study, size)
    for _ in range(3):
        once()
    print("ready", flush=True)
    sys.stdin.readline()
    started = last = time.perf_counter()
    count, longest = 0, 0.0
    while last - started < span:
        once()
        now = time.perf_counter()
        count, longest, last = count + size, max(longest, now - last), now
    print(json.dumps([count / (last - started), longest]), flush=True)
    if study is not None:
        study.close()


def together(kind, place, size, processes, span):
    """Return events a second of all processes, the slowest one's share of its fair share, and the longest call."""
    command = [sys.executable, "-m", "benchmarks.processes", "--worker", kind, str(place), str(size), str(span)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    children = [subprocess.Popen(command, **pipes) for _ in range(processes)]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("\n")
        child.stdin.flush()
    found = [json.loads(child.communicate()[0]) for child in children]
    rates = [rate for rate, _ in found]
    return sum(rates), min(rates) * processes / sum(rates), max(longest for _, longest in found)


# ---------------------------------------------------------------------- storages


@contextmanager
def server(folder):
    """Yield URL, port, programs and process of a PostgreSQL server of this run's own, with its full durability."""
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not programs:
        yield None
        return
    home = Path(tempfile.mkdtemp(dir=folder, prefix="server-"))
    who = {}
    if os.geteuid() == 0:  # which the server refuses to run as
        account = pwd.getpwnam("postgres")
        os.chown(home, account.pw_uid, account.pw_gid)
        os.chmod(folder, 0o755)
        who = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": home, **who}
    run = Path(programs[-1])
    subprocess.run([run / "initdb", "-D", home / "data", "-U", "tester", "--auth=trust"], check=True, **quiet)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = ["-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={home}", "-c", f"port={port}"]
    process = subprocess.Popen([run / "postgres", "-D", home / "data", *settings], **quiet)
    try:
        url = f"postgresql://tester@127.0.0.1:{port}/postgres"
        for _ in range(200):
            if subprocess.run([run / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]).returncode == 0:
                break
            time.sleep(0.1)
        yield url, port, run, process.pid
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(home, ignore_errors=True)


def inserts(found, clients, span, folder):
    """Return bare single-row inserts a second by `pgbench`."""
    _, port, run, _ = found
    script = Path(folder) / "insert.sql"
    script.write_text("INSERT INTO bare (value) VALUES ('a row of some forty bytes, as a loss has');\n")
    place = ["-h", "127.0.0.1", "-p", str(port), "-U", "tester"]
    table = "CREATE TABLE IF NOT EXISTS bare (id bigserial PRIMARY KEY, value text)"
    subprocess.run([run / "psql", *place, "-q", "-c", table, "postgres"], check=True, stderr=subprocess.DEVNULL)
    how = ["-n", "-M", "prepared", "-f", script, "-c", str(clients), "-j", "2", "-T", str(int(span))]
    printed = subprocess.run(
        [run / "pgbench", *place, *how, "postgres"], check=True, capture_output=True, text=True
    ).stdout
    return float(next(line for line in printed.splitlines() if line.startswith("tps")).split()[2])


def by_processes(folder, span):
    rows = []
    with server(folder) as found:
        for count in PROCESSES if found else ():
            bare = inserts(found, count, span, folder)
            for size in (1, BLOCK):
                name = f"of {size} by {count}"
                sv.Study.open(found[0], name=name, **options()).close()
                rows.append(("PostgreSQL", size, count, *together(name, found[0], size, count, span), bare))
    for count in PROCESSES:
        place = Path(folder) / f"bare-{count}.db"
        with sqlite3.connect(place) as connection:
            connection.execute("PRAGMA journal_mode = WAL")  # once: nobody waits for whoever changes it
            connection.execute("CREATE TABLE bare (value INTEGER)")
            connection.execute("INSERT INTO bare VALUES (0)")
        bare, _, _ = together("commits", place, 1, count, span)
        for size in (1, BLOCK):
            name, url = f"of {size} by {count}", f"sqlite:///{folder}/study-{size}-{count}.db"
            sv.Study.open(url, name=name, **options()).close()
            rows.append(("SQLite", size, count, *together(name, url, size, count, span), bare))
    printed = [
        (
            f"{storage}, {'one at a time' if size == 1 else f'blocks of {size}'}, {count}",
            f"{rate:,.0f}",
            f"{rate / bare:.2f}" if size == 1 else "",
            f"{bare:,.0f}",
            f"{share:.2f}",
            f"{1000 * longest:,.0f} ms",
        )
        for storage, size, count, rate, share, longest, bare in rows
    ]
    title = "Pairs of ask and tell by processes on one study, beside bare inserts (pgbench) or bare commits (SQLite)"
    columns = ["storage, calls, processes", "events/s", "of bare", "bare/s", "slowest of fair share", "longest call"]
    show("studies_processes", title, columns, printed)


# ---------------------------------------------------------------------- many of everything


def long_study(folder, rounds):
    """Return how long a study in 1,000 dimensions with many rounds takes to open, and its last release."""
    url = f"sqlite:///{folder}/long.db"
    facts = {"horizon": 100 * rounds, "loss_range": (0.0, 1.0), "privacy": sv.PureDP(epsilon=1.0)}
    small = {"plan": "worst-case", "batch_size": 8}  # rounds of the default plan grow: it never has so many
    study = sv.Study.open(url, name="long", domain=sv.domains.Ball(1000), **facts, **small)
    rng, times = np.random.default_rng(1), []
    while study.round < rounds:
        actions = study.ask_round()
        times.append(seconds(lambda actions=actions: study.tell(actions.ids, rng.random(len(actions)))))
    study.close()
    opening = sorted(seconds(lambda: sv.Study.open(url, name="long").close()) for _ in range(5))[2]
    return opening, float(np.median(times[:100])), float(np.median(times[-100:]))


def many_studies(url, count):
    """Return the median seconds that the first ten and the last ten of many studies took to be created."""
    times = [
        seconds(lambda name=name: sv.Study.open(url, name=name, **options()).close()) for name in map(str, range(count))
    ]
    return float(np.median(times[:10])), float(np.median(times[-10:]))


def open_ids(folder, count):
    """Return seconds of a pair of calls with nothing outstanding, and with a million ids."""
    found = []
    for outstanding in (0, count):
        study = sv.Study.open(f"sqlite:///{folder}/open-{outstanding}.db", name="open", patience=None, **options())
        for _ in range(outstanding // 10_000):
            study.ask(10_000)
        once = work(study, 1)
        for _ in range(50):
            once()
        found.append(float(np.median([seconds(once) for _ in range(300)])))
        study.close()
    return found


def many(folder, rounds, studies):
    opening, first, last = long_study(folder, rounds)
    rows = [
        (f"opening a study in 1,000 dimensions with {rounds:,} rounds (aim: under 1 s)", f"{opening:.2f} s"),
        ("its calls that released a round: the first hundred, the last", f"{1e3 * first:.0f} ms, {1e3 * last:.0f} ms"),
    ]
    storages = {"SQLite": f"sqlite:///{folder}/many.db"}
    with server(folder) as found:
        if found:
            storages["PostgreSQL"] = found[0]
        for name, url in storages.items():
            first, last = many_studies(url, studies)
            words = f"creating one of {studies:,} studies, {name}: the first ten, the last (aim: under 30 ms)"
            rows.append((words, f"{1e3 * first:.0f} ms, {1e3 * last:.0f} ms"))
    none, million = open_ids(folder, 1_000_000)
    rows.append(("a pair of calls with no id open, and with a million", f"{1e6 * none:.0f} us, {1e6 * million:.0f} us"))
    show("studies_many", "Many rounds, many studies, many open ids", ["", ""], rows)


def main(arguments=()):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--span", type=float, default=4.0, help="seconds of each measurement")
    parser.add_argument("--rounds", type=int, default=10_000, help="of the long study")
    parser.add_argument("--studies", type=int, default=1000, help="in one database")
    parser.add_argument("--folder", default=None, help="on the disk to be measured; a temporary one by default")
    parser.add_argument("--only", choices=("processes", "many"), default=None)
    chosen = parser.parse_args(list(arguments))
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        if chosen.only != "many":
            by_processes(folder, chosen.span)
        if chosen.only != "processes":
            many(folder, chosen.rounds, chosen.studies)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(*sys.argv[2:])
    else:
        main(sys.argv[1:])
