"""A process killed at any instruction leaves a study that the next `open` repairs.

What these tests cannot see: whether a commit would survive a loss of power. The kernel keeps what a killed process has
written, so synchronous=OFF passes them; `test_storage.py` asserts the setting on the live connection instead.
"""

import contextlib
import random

import pytest
from killing import WAYS, History, arm, tally, work_on
from study_tools import SOAK, Look, ball, believing, curved, sums

import sottovoce as sv
from children import Child
from sampling import sampled
from sottovoce.errors import RoundClosed

KILLS = {"sqlite": 40 if SOAK else 6, "postgresql": 20 if SOAK else 3}
SUMS = {  # rounds that release plain sums of their losses
    "designs": sums(),
    "probes": believing(probes=2, least_events=2),  # short at first, for they grow
}
STUDIES = range(15 if SOAK else 1)  # a fresh one each: what is checked after a kill grows with what was done before
REACH = {"statement": 100, "commit": 30, "erasure": 5, "line": 9000, "time": 2000}


@pytest.fixture(scope="module", autouse=True)
def warm(tmp_path_factory):
    """Import and compile everything once: children are forked, and inherit it."""
    private = {"privacy": sv.PureDP(1.0)}
    for arguments in (sums(), ball(**private), believing(), believing(**private), curved(**private)):
        url = f"sqlite:///{tmp_path_factory.mktemp('warm') / 'study.db'}"
        with sv.Study.open(url, name="study", **arguments) as study:
            block = study.ask(40)
            study.tell(block.ids, [0.5] * 40)


def kill_many(url, kills, ways, seed, arguments, exact):
    rng = random.Random(seed)
    history, deaths = History(url, exact), dict.fromkeys(ways, 0)
    sv.Study.open(url, name="study", **arguments).close()
    waiting = []
    for turn in range(kills):
        way = ways[turn % len(ways)]
        after, late = int(REACH[way] * rng.random() ** 2), rng.random() < 0.5
        work = work_on(url, rng.random(), waiting)

        def doomed(report, work=work, way=way, after=after, late=late):
            arm(way, after, late)
            work(report)

        said, killed = Child(doomed).finish()
        deaths[way] += killed
        history.hear(said)
        waiting = history.recover()
        tally(f"killed at {'an' if way == 'erasure' else 'a'} {way}", url, "nothing lost" if killed else "lived")
    said, killed = Child(work_on(url, "the last", waiting, calls=30)).finish()
    assert not killed  # and it had plenty to do
    history.hear(said)
    history.recover()
    return history, deaths


@pytest.mark.timeout(900)
@pytest.mark.parametrize("again", STUDIES)
@pytest.mark.parametrize("way", sampled(WAYS, {"statement", "line"}, str))
@pytest.mark.parametrize("kind", sampled(SUMS, 1))
def test_nothing_is_lost_or_counted_twice_whenever_a_process_is_killed(kind, way, again, url):
    kills = KILLS["sqlite" if url.startswith("sqlite") else "postgresql"]
    if way == "erasure" and not url.startswith("sqlite"):
        way = "statement"  # there is no log to erase
    history, deaths = kill_many(url, kills, [way], f"{kind} {way} {url[:6]} {again}", SUMS[kind], exact=True)
    assert len(history.closed) > 2
    if way != "time":  # how far one gets in a given time is the machine's business
        assert sum(deaths.values()) > kills // 4  # the others came to the end of their work
        assert len(history.closed) > kills // 4  # and work it was


@pytest.mark.timeout(900)
@pytest.mark.parametrize("again", STUDIES)
@pytest.mark.parametrize("make", sampled([ball, believing, curved], 1))
def test_no_released_round_ever_changes_under_real_noise(make, again, url):
    kills = KILLS["sqlite" if url.startswith("sqlite") else "postgresql"]
    history, deaths = kill_many(url, kills, WAYS, f"noise {again}", make(privacy=sv.PureDP(1.0)), exact=False)
    assert sum(deaths.values()) > kills // 4
    assert len(history.closed) > kills // 3


@pytest.mark.timeout(900)
@pytest.mark.parametrize("late", [False, True])
def test_a_creation_that_was_cut_short_is_begun_again(late, shelf):
    dead = 0
    for after in range(0, 30, 1 if SOAK else 5):
        url = f"sqlite:///{shelf / f'{after}.db'}"

        def doomed(report, url=url, after=after):
            arm("statement", after, late)
            sv.Study.open(url, name="study", **sums()).ask(5)

        dead += Child(doomed).finish()[1]
        with sv.Study.open(url, name="study", **sums()) as study:
            ids = study.ask(15).ids
            study.tell(ids, [0.5] * 15)
            assert study.status().asked in (15, 20)
        tally("killed while creating", url, "nothing lost")
    assert dead > 3


@pytest.mark.timeout(900)
@pytest.mark.parametrize("late", [False, True])
def test_the_end_of_a_life_is_all_or_nothing(late, url):
    dead, generations = 0, set()
    with sv.Study.open(url, name="study", **sums()) as study:
        incarnation = study.status().incarnation
    for after in range(0, 40, 1 if SOAK else 6):
        with sv.Study.open(url, name="study") as study:
            ids = study.ask(17).ids
            study.tell(ids[:-1], [0.5] * 16)
        before = Look(url)

        def doomed(report, after=after):
            arm("statement", after, late)
            sv.Study.open(url, name="study", restored=True).ask(5)

        dead += Child(doomed).finish()[1]
        after_death = Look(url)
        if after_death.counters.incarnation == incarnation:
            assert after_death.told() == before.told()
            assert after_death.counters.clock == before.counters.clock
        else:
            incarnation = after_death.counters.incarnation
            assert after_death.tells == []
        generations.add(incarnation)
        with sv.Study.open(url, name="study", restored=True) as study:
            status = study.status()
            assert (status.outstanding, status.open_rounds) == (0, 0)
            assert status.incarnation > incarnation
            incarnation = status.incarnation
        tally("killed while a life ends", url, "all or nothing")
    assert dead > 3
    assert len(generations) > 3


@pytest.mark.timeout(900)
@pytest.mark.parametrize("late", [False, True])
def test_a_deadline_is_kept_once_whenever_a_process_is_killed(late, url):
    """Rounds that are asked to their end are overdue at once: what was not told is given up, each loss once."""
    sv.Study.open(url, name="study", deadline=1e-6, **sums()).close()
    dead = 0
    for after in range(0, 140, 1 if SOAK else 14):

        def doomed(report, after=after):
            arm("statement", after, late)
            study = sv.Study.open(url, name="study", repeat="ignore")
            for _ in range(3):
                ids = study.ask(7).ids
                with contextlib.suppress(RoundClosed):
                    study.tell(ids[:3], [0.5] * 3)

        dead += Child(doomed).finish()[1]
        with sv.Study.open(url, name="study") as study:
            status, found = study.status(), study.verify()
        assert found.ok, str(found)
        assert status.told + status.forgotten + status.outstanding == status.asked
        assert status.open_rounds <= 1  # the one that is not asked to its end
        tally("killed at a deadline", url, "nothing lost")
    assert dead > 5
    assert status.forgotten > 20
