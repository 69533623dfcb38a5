"""Durable studies and evaluations against Optuna's SQLite storage; blocks; and what opening costs after many events.

`python -m benchmarks.studies --events 10000000` builds the large one (minutes); `make bench` a tenth of it.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import optuna

import sottovoce as sv
from benchmarks.harness import seconds, show, side_by_side
from sottovoce.rounds.stores.sql.database import open_database

ONES, TRIALS, BLOCKS, BLOCK, REPEATS = 200, 10, 60, 256, 3


def make(folder, name, horizon):
    study = sv.Study.open(
        f"sqlite:///{folder}/{name}.db",
        name=name,
        domain=sv.domains.Hypersimplex(20, 5),
        horizon=horizon,
        loss_range=(0.0, 1.0),
        privacy=sv.PureDP(epsilon=1.0),
    )
    assert study._base.run("PRAGMA synchronous") == [(2,)]  # FULL: what is committed survives a loss of power
    return study


def one_at_a_time(study, events):
    for _ in range(events):
        action = study.ask()
        study.tell(action.id, 0.5)


def in_blocks(study, blocks, losses):
    for _ in range(blocks):
        actions = study.ask(BLOCK)
        study.tell(actions.ids, losses)


def make_evaluations(folder):
    making = {"loss_range": (0.0, 1.0), "privacy": sv.PureDP(epsilon=1.0)}
    evaluations = sv.PrivateEvaluations(storage=f"sqlite:///{folder}/evaluations.db", name="evaluations", **making)
    return evaluations, [evaluations.open(events=10_000_000) for _ in range(2)]


def people_one_at_a_time(evaluations, events):
    for _ in range(events):
        shown, person = evaluations.assign()
        shown.tell(0.5, ids=person)


def people_in_blocks(evaluation, blocks, losses):
    for _ in range(blocks):
        evaluation.tell(losses, ids=evaluation.assign(size=BLOCK))


def optuna_trials(study, trials):
    for _ in range(trials):
        trial = study.ask()
        for coordinate in range(10):
            trial.suggest_float(f"x{coordinate}", 0.0, 1.0)
        study.tell(trial, 0.5)


def bare_commits(folder, commits):
    """What durability itself costs: the same number of SQLite transactions, each changing one number."""
    base = open_database(f"sqlite:///{folder}/bare.db")
    base.transaction(lambda: base.run("CREATE TABLE IF NOT EXISTS counter (value INTEGER)"))
    base.transaction(lambda: base.run("INSERT INTO counter VALUES (0)"))
    for _ in range(commits):
        base.at_once("UPDATE counter SET value = value + 1", ())
    base.close()


def speed(folder, memory):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    theirs = optuna.create_study(storage=f"sqlite:///{folder}/optuna.db", sampler=optuna.samplers.RandomSampler(seed=1))
    single, blocks = (make(folder, name, 10_000_000) for name in ("single", "blocks"))
    evaluations, (evaluation, _) = make_evaluations(folder)
    unsafe = make(memory, "unsafe", 10_000_000)
    losses = np.linspace(0.0, 1.0, BLOCK)
    times = side_by_side(
        {
            "optuna": lambda: optuna_trials(theirs, TRIALS),
            "single": lambda: one_at_a_time(single, ONES),
            "blocks": lambda: in_blocks(blocks, BLOCKS, losses),
            "people": lambda: people_one_at_a_time(evaluations, ONES),
            "people in blocks": lambda: people_in_blocks(evaluation, BLOCKS, losses),
            "memory": lambda: in_blocks(unsafe, BLOCKS, losses),
            "commits": lambda: bare_commits(folder, 2 * BLOCKS),
        },
        REPEATS,
    )
    rates = {
        "Optuna, SQLite, ten suggest_float, one at a time": TRIALS / times["optuna"],
        "study, 20 dimensions, one at a time": ONES / times["single"],
        "evaluations, one person at a time": ONES / times["people"],
        f"study, blocks of {BLOCK}": BLOCKS * BLOCK / times["blocks"],
        f"evaluations, blocks of {BLOCK}": BLOCKS * BLOCK / times["people in blocks"],
        f"study, blocks of {BLOCK}, in memory (not durable: no disk to wait for)": BLOCKS * BLOCK / times["memory"],
        f"the limit of this disk: two bare commits for each {BLOCK}": BLOCKS * BLOCK / times["commits"],
    }
    base = rates["Optuna, SQLite, ten suggest_float, one at a time"]
    rows = [(name, f"{rate:,.0f}", f"{rate / base:,.0f}") for name, rate in rates.items()]
    title = "Durable ask and tell on SQLite, synchronous=FULL (aims: 20 times Optuna; 50,000 events/s in blocks)"
    show("studies", title, ["", "events/s", "Optuna = 1"], rows)
    for study in (single, blocks, unsafe, evaluations):
        study.close()


def size_of(folder, name):
    return sum(file.stat().st_size for file in Path(folder).glob(f"{name}.db*"))


def large(folder, events):
    study = make(folder, "large", events + 100_000)
    rng, largest, started = np.random.default_rng(1), 0, time.perf_counter()
    while study.status().asked < events:
        actions = study.ask_round()
        largest = max(largest, size_of(folder, "large"))  # an open round, all of it asked
        study.tell(actions.ids, rng.random(len(actions)))
    took, rounds = time.perf_counter() - started, study.round
    study.tell(study.ask(1000).ids[:500], rng.random(500))  # an open round, as there is in life
    study.close()

    def opened():
        sv.Study.open(f"sqlite:///{folder}/large.db", name="large").close()

    opening = sorted(seconds(opened) for _ in range(5))[2]
    with sv.Study.open(f"sqlite:///{folder}/large.db", name="large") as again:
        verifying = seconds(lambda: again.verify())
        assert again.verify().ok
    rows = [
        ("rounds", f"{rounds:,}"),
        ("telling all of them, round by round", f"{took:,.0f} s, {events / took:,.0f} events/s"),
        ("opening the study (aim: under 1 s)", f"{opening:.3f} s"),
        ("all of its files (aim: under 10 MB)", f"{size_of(folder, 'large') / 1e6:.2f} MB"),
        ("the most they ever were, log included", f"{largest / 1e6:.2f} MB"),
        ("verifying it", f"{verifying:.1f} s"),
    ]
    title = f"A study after {events:,} events, 20 dimensions, epsilon = 1, default plan"
    show("studies_large", title, ["", ""], rows)


def main(arguments=()):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, help="of the large study")
    parser.add_argument("--folder", default=None, help="on the disk to be measured; a temporary one by default")
    chosen = parser.parse_args(list(arguments))
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder, tempfile.TemporaryDirectory(dir=shared) as memory:
        speed(folder, memory)
        large(folder, chosen.events)


if __name__ == "__main__":
    main(sys.argv[1:])
