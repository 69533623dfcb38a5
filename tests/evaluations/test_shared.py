"""Several processes and threads share stored evaluations; processes are killed among their calls; storages go back."""

import hashlib
import os
import random
import shutil
import signal
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import ForkRefused, NotReleased, StudyBehind, UnknownAction

GRID = 2**18
OFTEN = ["assign"] * 6 + ["tell"] * 6


SOAK = os.environ.get("SOTTOVOCE_SOAK", "") not in ("", "0")


def integer_of(one):
    """The integer of the loss of whoever has an id."""
    return int.from_bytes(hashlib.blake2b(one.encode(), digest_size=4).digest()) % GRID


def loss_of(one):
    return integer_of(one) / GRID


def path_of(url):
    return url.removeprefix("sqlite:///")


def serve(url, seed, people):
    """Return work that meets people, and says what it is about to tell and what it has told."""

    def work(report):
        rng = random.Random(seed)
        with sv.PrivateEvaluations(storage=url, name="trials", repeat="ignore") as evaluations:
            waiting = []
            for _ in range(people):
                one, person = evaluations.assign()
                waiting.append((one, person))
                report("assigned", person)
                if rng.random() < 0.7 or len(waiting) > 4:
                    one, person = waiting.pop(rng.randrange(len(waiting)))
                    one.tell(loss_of(person), ids=person)
                    report("told", person)
            for one, person in waiting:
                one.tell(loss_of(person), ids=person)
                report("told", person)

    return work


@pytest.mark.timeout(900)
def test_processes_share_evaluations_and_totals_are_exact(url, opened, plain, child):
    processes = 6 if SOAK else 2
    evaluations = opened(url, **plain, patience=None)
    for _ in range(3):
        evaluations.open(events=20 * processes)
    evaluations.close()  # a file that is open at a fork is not opened in the child
    said = [one.finish() for one in [child(serve(url, seed, 60)) for seed in range(processes)]]
    assert not any(killed for _, killed in said)
    assigned = [one for lines, _ in said for kind, one in lines if kind == "assigned"]
    assert len(set(assigned)) == len(assigned) == 60 * processes
    again = opened(url)
    assert sum(one.total for one in again.results) == sum(map(integer_of, assigned))
    assert [one.events for one in again.results] == [20 * processes] * 3
    assert again.verify().ok


@pytest.mark.timeout(900)
def test_a_kill_loses_nothing_that_was_acknowledged_and_counts_nothing_twice(url, plain, child):
    """Killed at any line: what was told is in the sum once, whoever releases; what may have been, once at most."""
    rng = random.Random(5)
    for attempt in range(200 if SOAK else 6):
        name = f"trials {attempt}"
        with sv.PrivateEvaluations(storage=url, name=name, **plain, patience=None) as evaluations:
            for size in (5, 8, 30):
                evaluations.open(events=size)
        after = rng.randrange(100, 12_000)

        def work(report, name=name, after=after, seed=attempt):
            kill_after(after)
            serve_name(url, name, report)

        said, _ = child(work).finish()
        told = {one for kind, one in said if kind == "told"}
        asked = [one for kind, one in said if kind == "telling"]
        with sv.PrivateEvaluations(storage=url, name=name) as evaluations:
            check_after_a_kill(evaluations, told, asked)


def kill_after(lines):
    """Kill this process after so many lines of the library."""
    home, count = str(Path(sv.__file__).parent), 0

    def line(frame, event, argument):
        nonlocal count
        count += event == "line"
        if count >= lines:
            os.kill(os.getpid(), signal.SIGKILL)
        return line

    sys.settrace(lambda frame, event, argument: line if frame.f_code.co_filename.startswith(home) else None)


def serve_name(url, name, report):
    with sv.PrivateEvaluations(storage=url, name=name) as evaluations:
        for _ in range(25):
            one, person = evaluations.assign()
            report("telling", person)
            one.tell(loss_of(person), ids=person)
            report("told", person)


def check_after_a_kill(evaluations, told, asked):
    found = evaluations.verify()
    assert found.ok, str(found)
    before = {one.number: one.total for one in evaluations.results}
    events = 0
    for one in [evaluations.evaluation(number) for number in range(3)]:
        if not one.closed:
            assert not told & set(one.outstanding), "a loss that was acknowledged is gone"
            if one.assigned:
                one.close()
    excess = 0
    for one in evaluations.results:
        assert before.get(one.number, one.total) == one.total, "what was released has changed"
        excess += one.total - one.events * (GRID // 2)
        events += one.events
    ledger_token = sum(integer_of(one) - GRID // 2 for one in told)
    unsure = [integer_of(one) - GRID // 2 for one in asked if one not in told]  # the last one, at most
    assert excess - ledger_token in (0, *unsure)
    assert events >= len(told)


def test_threads_share_evaluations(url, opened, plain):
    evaluations = opened(url, **plain, patience=None)
    opened_here = [evaluations.open(events=60) for _ in range(2)]
    problems = []

    def work():
        try:
            for _ in range(15):
                one, person = evaluations.assign()
                one.tell(loss_of(person), ids=person)
                opened_here[0].tell(0.25)
                opened_here[1].tell(0.25, ids=opened_here[1].assign())
        except BaseException as problem:  # pragma: no cover
            problems.append(problem)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert [one.assigned for one in opened_here] == [45, 45]
    assert not any(len(one.outstanding) for one in opened_here)
    opened_here[0].close()
    assert opened_here[0].result.events == 45


def test_losses_are_gone_from_the_files_with_the_release(sqlite_url, opened):
    evaluations = opened(sqlite_url, loss_range=(0.0, 1.0), privacy=sv.PureDP(1.0))
    evaluation = evaluations.open(events=40)
    ids = evaluation.assign(size=30)
    integers = np.random.default_rng(5).integers(2**16, GRID, 40)
    losses, kept = integers / GRID, [int(one).to_bytes(4, "big") for one in integers]  # as they are stored

    def there():
        files = [Path(path_of(sqlite_url) + end) for end in ("", "-wal", "-shm")]
        held = b"\0".join(path.read_bytes() for path in files if path.exists())
        return sum(one in held for one in kept)

    evaluation.tell(losses[:10])
    for one, loss in zip(ids[:-1], losses[10:-1], strict=True):
        evaluation.tell(loss, ids=one)
    assert there() == 39
    evaluation.tell(losses[-1], ids=ids[-1])
    assert evaluation.closed
    assert there() == 0


def test_a_storage_that_was_put_back_drops_what_is_open(sqlite_url, opened, plain, tmp_path):
    evaluations = opened(sqlite_url, **plain)
    released, evaluation = evaluations.open(events=1), evaluations.open(events=4)
    released.tell(0.5)
    person = evaluation.assign()
    evaluations.close()
    shutil.copy(path_of(sqlite_url), tmp_path / "copy.db")
    evaluations = opened(sqlite_url)
    evaluations.evaluation(1).tell(1.0, ids=person)
    later = evaluations.evaluation(1).assign()
    evaluations.close()
    shutil.copy(tmp_path / "copy.db", path_of(sqlite_url))
    restored = opened(sqlite_url, restored=True)
    assert restored.evaluation(0).mean == 0.5
    dropped = restored.evaluation(1)
    assert (dropped.closed, dropped.remaining, restored.open_evaluations) == (False, 0, ())
    with pytest.raises(NotReleased, match="was abandoned"):
        _ = dropped.mean
    for one in (person, later):
        with pytest.raises(UnknownAction):
            dropped.tell(0.5, ids=one)
    fresh = restored.open(events=1)
    fresh.tell(0.25)
    assert (fresh.number, fresh.mean) == (2, 0.25)


def test_a_storage_that_is_behind_is_noticed_by_an_id(sqlite_url, opened, plain, tmp_path):
    evaluations = opened(sqlite_url, **plain)
    evaluation = evaluations.open(events=4)
    evaluation.tell(1.0)
    evaluations.close()
    shutil.copy(path_of(sqlite_url), tmp_path / "copy.db")
    evaluations = opened(sqlite_url)
    later = evaluations.evaluation(0).assign()
    evaluations.close()
    shutil.copy(tmp_path / "copy.db", path_of(sqlite_url))
    behind = opened(sqlite_url)
    with pytest.raises(StudyBehind):
        behind.evaluation(0).tell(0.5, ids=later)
    with pytest.raises(NotReleased, match="was abandoned"):
        _ = behind.evaluation(0).mean
    assert behind.verify().ok


def test_a_running_process_notices_that_its_storage_went_back(postgres_url, opened, plain, execute):
    evaluations = opened(postgres_url, **plain)
    evaluation = evaluations.open(events=4)
    columns = "incarnation, clock, next_place, version, writers, seal"
    before = execute(postgres_url, f"SELECT {columns} FROM sottovoce_books")[0]
    evaluation.assign()
    values = ", ".join(f"{name} = ?" for name in columns.split(", "))
    execute(postgres_url, f"UPDATE sottovoce_books SET {values}", *before)
    with pytest.raises(StudyBehind):
        evaluation.assign()
    assert evaluations.open_evaluations == ()


def test_a_forked_child_is_refused(url, opened, plain, child):
    evaluations = opened(url, **plain)
    evaluation = evaluations.open(events=4)

    def work(report):
        with pytest.raises(ForkRefused):
            evaluation.tell(0.5)
        report("refused", True)

    assert child(work).finish() == ([["refused", True]], False)
    evaluation.tell([0.5] * 4)
    assert evaluation.mean == 0.5


def test_what_others_have_in_hand_is_given_up_and_not_given_back(url, opened, plain, eager):
    mine, yours = opened(url, **plain, patience=200), opened(url)
    evaluation = mine.open(events=200)
    for _ in range(60):
        one, person = yours.assign()
        one.tell(0.0, ids=person)
    evaluation.tell([0.0] * evaluation.remaining)
    in_hand = len(evaluation.outstanding)
    assert in_hand > 3
    later = mine.open(events=1000)
    later.assign(size=200)
    later.assign()  # out of patience
    yours.close()
    assert evaluation.result.events == 200
    assert opened(url).evaluation(0).result.total == in_hand * (GRID // 2)
    assert mine.verify().ok


def anything(url, seed, calls):
    """Return work that does whatever can be done, in any order; it says which ids it has told, and what was refused."""

    def work(report):
        rng = random.Random(seed)
        with sv.PrivateEvaluations(storage=url, name="trials") as evaluations:
            waiting = []
            for _ in range(calls):
                call = rng.choice([*OFTEN, "several", "next", "forget", "open", "close", "drop"])
                opened_now = evaluations.open_evaluations if call in ("next", "close", "drop", "several") else ()
                one = rng.choice(opened_now) if opened_now else None
                try:
                    if call == "assign":
                        met, person = evaluations.assign()
                        waiting.append((person, met.number))
                    elif call == "several" and one is not None:
                        waiting += [(person, one.number) for person in one.assign(size=rng.randrange(1, 6)).tolist()]
                    elif call == "tell" and waiting:
                        person = waiting.pop(rng.randrange(len(waiting)))
                        evaluations.tell(person[0], loss_of(person[0]))
                        report("told", person)
                    elif call == "next" and one is not None:
                        one.tell([0.5] * rng.randrange(1, 6))
                    elif call == "forget" and waiting:
                        evaluations.forget(waiting.pop()[0])
                    elif call == "open" and len(evaluations.open_evaluations) < 4:
                        evaluations.open(events=rng.randrange(1, 60))
                    elif call == "close" and one is not None and rng.random() < 0.3:
                        one.close()
                    elif call == "drop" and one is not None and rng.random() < 0.1:
                        one.abandon()
                except sv.errors.AlreadyTold:
                    raise  # an id went to two of them
                except (sv.errors.HorizonReached, sv.errors.RoundClosed, ValueError) as refused:
                    report("refused", type(refused).__name__)
            report("results", [[one.number, one.total] for one in evaluations.results])

    return work


@pytest.mark.timeout(900)
def test_whatever_processes_do_at_once_sums_are_exact(url, opened, plain, child):
    """A loss that was acknowledged is in its sum; all others are the middle, told or missing. What was read stays."""
    opened(url, **plain, patience=30).close()
    processes, calls = (6, 400) if SOAK else (2, 50)
    said = [one.finish() for one in [child(anything(url, seed, calls)) for seed in range(processes)]]
    told = [(one, number) for lines, _ in said for kind, one in lines if kind == "told" for one, number in [one]]
    assert len({one for one, _ in told}) == len(told) > 10
    evaluations = opened(url)
    for one in evaluations.open_evaluations:
        if one.assigned:
            one.close()
    found = evaluations.verify()
    assert found.ok, str(found)
    for one in evaluations.results:
        mine = [integer_of(person) - GRID // 2 for person, number in told if number == one.number]
        assert one.total == one.events * (GRID // 2) + sum(mine)
    totals = {one.number: one.total for one in evaluations.results}
    seen = [result for lines, _ in said for kind, results in lines if kind == "results" for result in results]
    assert all(totals[number] == total for number, total in seen)
