"""Several processes and threads share stored evaluations; processes are killed among their calls; storages go back."""

import random
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
from killing import Child, arm, tally
from study_tools import SOAK, Look, execute, path_of, place

import sottovoce as sv
from sottovoce.errors import ForkRefused, NotReleased, StudyBehind, UnknownAction
from sottovoce.evaluations.stored import _assigning, _ending

GRID = 2**18
OFTEN = ["assign"] * 6 + ["tell"] * 6


def integer_of(number, slot):
    """The integer of the loss of whoever has a place, which the id says: no two of an evaluation are the same."""
    return (number * 7919 + slot * 104729 + 12345) % GRID


def loss_of(one):
    _, number, slot = place(one)
    return integer_of(number, slot) / GRID


def serve(url, seed, people):
    """Return work that meets people, and says what it is about to tell and what it has told."""

    def work(report):
        rng = random.Random(seed)
        _assigning._OFTEN = rng.choice((0, 8))
        with sv.open_evaluations(url, name="trials", repeat="ignore") as evaluations:
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
@pytest.mark.parametrize("processes", [2, 6] if SOAK else [2])
def test_processes_share_evaluations_and_totals_are_exact(processes, url, opened, plain):
    evaluations = opened(url, **plain, patience=None)
    opened_here = [evaluations.open(events=20 * processes) for _ in range(3)]
    if url.startswith("sqlite"):
        evaluations.close()  # a file that is open at a fork is not opened in the child
    said = [Child(serve(url, seed, 60)) for seed in range(processes)]
    said = [child.finish() for child in said]
    assert not any(killed for _, killed in said)
    assigned = [one for lines, _ in said for kind, one in lines if kind == "assigned"]
    assert len(set(assigned)) == len(assigned) == 60 * processes
    again = opened(url)
    assert [(one.number, one.total) for one in sorted(again.results, key=lambda one: one.number)] == [
        (one.number, sum(integer_of(one.number, slot) for slot in range(20 * processes))) for one in opened_here
    ]
    tally(f"{processes} processes that evaluate at once", url, "totals exact")


@pytest.mark.timeout(900)
@pytest.mark.parametrize("way", ["statement", "commit", "time"])
def test_a_kill_loses_nothing_that_was_acknowledged_and_counts_nothing_twice(way, url, plain):
    """Killed before and after a statement, or a commit: what was told is in the sum once, whoever releases."""
    kill_and_check(way, url, plain)


@pytest.mark.timeout(900)
def test_a_kill_at_an_erasure_leaves_it_to_the_next(sqlite_url, plain):
    kill_and_check("erasure", sqlite_url, plain)


def kill_and_check(way, url, plain):
    rng = random.Random(way)
    for attempt in range(200 if SOAK else 3):
        name = f"trials {attempt}"
        with sv.open_evaluations(url, name=name, **plain, patience=None) as evaluations:
            numbers = [evaluations.open(events=size).number for size in (5, 8, 30)]
        after, late = (
            rng.randrange({"statement": 60, "commit": 20, "erasure": 2, "time": 1500}[way]),
            rng.random() < 0.5,
        )

        def work(report, name=name, after=after, late=late, seed=attempt):
            arm(way, after, late)
            serve_name(url, name, seed, report)

        said, killed = Child(work).finish()
        told = {one for kind, one in said if kind == "told"}
        check_after_a_kill(url, name, numbers, told, said)
        tally(f"evaluations, killed at a {way}", url, "nothing lost" if killed else "not killed")


def serve_name(url, name, seed, report):
    rng = random.Random(seed)
    _assigning._OFTEN = rng.choice((0, 8))
    with sv.open_evaluations(url, name=name) as evaluations:
        for _ in range(25):
            one, person = evaluations.assign()
            report("assigned", person)
            report("telling", person)
            one.tell(loss_of(person), ids=person)
            report("told", person)
        report("results", [[one.number, one.total] for one in evaluations.results])


def check_after_a_kill(url, name, numbers, told, said):
    asked = {one for kind, one in said if kind == "telling"}
    with sv.open_evaluations(url, name=name) as evaluations:
        before = {one.number: one.total for one in evaluations.results}
        found = evaluations.verify()
        assert found.ok, str(found)
        for number in numbers:
            evaluation = evaluations.evaluation(number)
            if not evaluation.closed:
                assert not told & set(evaluation.outstanding), "a loss that was acknowledged is gone"
                if evaluation.assigned:
                    evaluation.close()
        sums = {number: [] for number in numbers}
        missing = {row.number: set(sv.studies.database.rows.read("it", row.released)["missing"].tolist())
                   for row in Look(url, name).rounds if row.released is not None}  # fmt: skip
        for one in evaluations.results:
            slots = [slot for slot in range(one.events) if slot not in missing[one.number]]
            sums[one.number] = [integer_of(one.number, slot) for slot in slots]
            expected = sum(sums[one.number]) + len(missing[one.number]) * (GRID // 2)
            assert one.total == expected
            assert before.get(one.number, one.total) == one.total, "what was released has changed"
        for person in told:
            _, number, slot = place(person)
            assert slot not in missing.get(number, ())
        assert asked >= told
        assert Look(url, name).cells == [] or any(one.assigned == 0 for one in evaluations.open_evaluations)


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


def test_the_noise_of_a_release_that_fails_is_shown_to_nobody(url, opened, monkeypatch):
    """It is drawn afresh by whoever comes next; what is committed is read by all, and drawn once."""
    evaluations = opened(url, loss_range=(0.0, 1.0), privacy=sv.PureDP(0.1))
    evaluation = evaluations.open(events=3)
    drawn, noised = [], _ending.Ender._noised

    def watched(self, total):
        drawn.append(noised(self, total))
        if len(drawn) == 1:
            raise sv.errors.StorageError("the line is cut")
        return drawn[-1]

    monkeypatch.setattr(_ending.Ender, "_noised", watched)
    evaluation.tell([0.5, 0.5, 0.5])  # on record, whatever comes of the release
    assert evaluation.result.total == drawn[1]
    assert opened(url).evaluation(0).result.total == drawn[1]
    evaluation.close()
    assert len(drawn) == 2


def test_losses_are_gone_from_the_files_with_the_release(sqlite_url, opened):
    evaluations = opened(sqlite_url, loss_range=(0.0, 1.0), privacy=sv.PureDP(1.0))
    evaluation = evaluations.open(events=40)
    ids = evaluation.assign(size=30)
    integers = np.random.default_rng(5).integers(2**16, GRID, 40)
    losses, kept = integers / GRID, [int(one).to_bytes(4, "little") for one in integers]  # as they are stored

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
    assert Look(sqlite_url, "trials").head.closed == 1


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
    assert Look(sqlite_url, "trials").cells == []


def test_a_running_process_notices_that_its_storage_went_back(postgres_url, opened, plain):
    evaluations = opened(postgres_url, **plain)
    evaluation = evaluations.open(events=4)
    before = Look(postgres_url, "trials").head
    evaluation.assign()
    columns = [name for name in before._fields if name not in ("id", "name", "configuration", "key", "deadline")]
    values = {name: getattr(before, name) for name in columns}
    execute(postgres_url, "UPDATE sottovoce_heads SET " + ", ".join(f"{name} = :{name}" for name in columns), **values)
    with pytest.raises(StudyBehind):
        evaluation.assign()
    assert evaluations.open_evaluations == ()


def test_a_forked_child_is_refused(url, opened, plain):
    evaluations = opened(url, **plain)
    evaluation = evaluations.open(events=4)

    def work(report):
        with pytest.raises(ForkRefused):
            evaluation.tell(0.5)
        report("refused", True)

    assert Child(work).finish() == ([["refused", True]], False)
    evaluation.tell([0.5] * 4)
    assert evaluation.mean == 0.5


def test_what_was_given_up_is_not_given_back(url, opened, plain, eager, monkeypatch):
    """A process that gave up on others' places may be killed before it releases; theirs must not come back to life."""
    making = plain | {"patience": 200}
    mine, yours = opened(url, **making), opened(url)
    evaluation = mine.open(events=200)
    for _ in range(60):
        one, person = yours.assign()
        one.tell(0.0, ids=person)
    in_hand = len(yours._books.engine.hand)
    assert in_hand > 3
    evaluation.tell([0.0] * evaluation.remaining)
    with monkeypatch.context() as patch:
        patch.setattr(_ending.Ender, "_tend_to", lambda self, numbers: None)
        later = mine.open(events=1000)
        later.assign(size=200)
        later.assign()  # out of patience: given up, and nothing is released
    assert not Look(url, "trials").head.closed
    yours.close()
    assert opened(url).evaluation(0).result.total == in_hand * (GRID // 2)


def anything(url, seed, calls):
    """Return work that does whatever can be done, in any order; it says which ids it has told, and what was refused."""

    def work(report):
        rng = random.Random(seed)
        _assigning._OFTEN = rng.choice((0, 8))
        with sv.open_evaluations(url, name="trials") as evaluations:
            waiting = []
            for _ in range(calls):
                call = rng.choice([*OFTEN, "several", "next", "forget", "open", "close", "drop"])
                opened_now = evaluations.open_evaluations if call in ("next", "close", "drop", "several") else ()
                one = rng.choice(opened_now) if opened_now else None
                try:
                    if call == "assign":
                        waiting.append(evaluations.assign()[1])
                    elif call == "several" and one is not None:
                        waiting += one.assign(size=rng.randrange(1, 6)).tolist()
                    elif call == "tell" and waiting:
                        person = waiting.pop(rng.randrange(len(waiting)))
                        evaluations.tell(person, loss_of(person))
                        report("told", person)
                    elif call == "next" and one is not None:
                        one.tell([0.5] * rng.randrange(1, 6))
                    elif call == "forget" and waiting:
                        evaluations.forget(waiting.pop())
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
def test_whatever_processes_do_at_once_sums_are_exact(url, opened, plain):
    """A loss that was acknowledged is in its sum; all others are the middle, told or missing. What was read stays."""
    opened(url, **plain, patience=30).close()
    processes, calls = (6, 400) if SOAK else (2, 50)
    said = [child.finish() for child in [Child(anything(url, seed, calls)) for seed in range(processes)]]
    told = [place(one)[1:] for lines, _ in said for kind, one in lines if kind == "told"]
    assert len(told) == len(set(told)) > 10
    evaluations = opened(url)
    for one in evaluations.open_evaluations:
        if one.assigned:
            one.close()
    found = evaluations.verify()
    assert found.ok, str(found)
    middle = GRID // 2
    for one in evaluations.results:
        mine = [integer_of(*where) - middle for where in told if where[0] == one.number]
        assert one.total == one.events * middle + sum(mine)
    totals = {one.number: one.total for one in evaluations.results}
    seen = [result for lines, _ in said for kind, results in lines if kind == "results" for result in results]
    assert all(totals[number] == total for number, total in seen)
    tally(f"{processes} processes that do anything at once", url, "sums exact")
