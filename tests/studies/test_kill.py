"""A process killed at any instruction leaves a book that the next `open` repairs.

What these tests cannot see: whether a commit would survive a loss of power. The kernel keeps what a killed process has
written, so synchronous=OFF passes them; `test_fine_print.py` asserts the setting on the live connection instead.
"""

import contextlib
import random

import pytest
from killing import WAYS, doomed, warm_up, work_on
from players import KINDS, NAMES, Account
from study_tools import SOAK, Look, ball, believing, curved, sums

import sottovoce as sv
from children import Child
from sampling import sampled
from sottovoce.errors import RoundClosed

KILLS = {"sqlite": 40 if SOAK else 6, "postgresql": 20 if SOAK else 3}
MADE = {  # whose rounds release plain sums of their losses, and are short
    "a study": ("a study", {"making": sums()}),
    "probes": ("a study", {"making": believing(probes=2, least_events=2)}),  # short at first, for they grow
    "segments": ("segments", {"probes": 2, "least_events": 2}),
    "segments that share rounds": (
        "segments",
        {"probes": 2, "least_events": 2, "segments": sv.Segments(NAMES, limit=20)},
    ),
    "evaluations": ("evaluations", {"events": (5, 8, 30)}),
}
AGAIN = range(4 if SOAK else 1)  # a fresh one each: what is checked after a kill grows with what was done before
REACH = {"statement": 100, "commit": 30, "erasure": 5, "line": 9000, "time": 2000}
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module", autouse=True)
def warm(tmp_path_factory):
    private = {"privacy": sv.PureDP(1.0)}
    makings = sums(), ball(**private), believing(), believing(**private), curved(**private)
    warm_up(tmp_path_factory.mktemp("warm"), *makings)


def kills_of(url):
    return KILLS["sqlite" if url.startswith("sqlite") else "postgresql"]


def kill_many(kind, url, ways, seed, exact=True, **making):
    rng, waiting = random.Random(seed), []
    account, deaths = Account(url, exact, kind=kind), 0
    KINDS[kind].first(url, **making).leave()
    for turn in range(kills_of(url)):
        way = ways[turn % len(ways)]
        after, late = int(REACH[way] * rng.random() ** 2), rng.random() < 0.5
        said, killed = Child(doomed(work_on(url, rng.random(), waiting, kind=kind), way, after, late)).finish()
        deaths += killed
        account.hear(said)
        waiting = account.recover()
    said, killed = Child(work_on(url, "the last", waiting, calls=30, kind=kind)).finish()
    assert not killed  # and it had plenty to do
    account.hear(said)
    account.recover()
    return account, deaths


@pytest.mark.parametrize("again", AGAIN)
@pytest.mark.parametrize("way", sampled(WAYS, {"statement"}, str))
@pytest.mark.parametrize("made", sampled(MADE, {"a study", "segments", "evaluations"}, str))
def test_nothing_is_lost_or_counted_twice_whenever_a_process_is_killed(made, way, again, url):
    kind, making = MADE[made]
    if way == "erasure" and not url.startswith("sqlite"):
        way = "statement"  # there is no log to erase
    account, deaths = kill_many(kind, url, [way], f"{made} {way} {url[:6]} {again}", **making)
    assert len(account.closed) > 2
    if way != "time":  # how far one gets in a given time is the machine's business
        assert deaths > kills_of(url) // 4  # the others came to the end of their work


@pytest.mark.parametrize("again", AGAIN)
@pytest.mark.parametrize("make", sampled([ball, believing, curved], 1))
def test_no_released_round_ever_changes_under_real_noise(make, again, url):
    making = make(privacy=sv.PureDP(1.0))
    account, deaths = kill_many("a study", url, WAYS, f"noise {again}", exact=False, making=making)
    assert deaths > kills_of(url) // 4
    assert len(account.closed) > kills_of(url) // 3


@pytest.mark.parametrize("late", [False, True])
def test_a_creation_that_was_cut_short_is_begun_again(late, shelf):
    dead = 0
    for after in range(0, 30, 1 if SOAK else 5):
        url = f"sqlite:///{shelf / f'{after}.db'}"

        def create(report, url=url):
            sv.Study.open(url, name="study", **sums()).ask(5)

        dead += Child(doomed(create, "statement", after, late)).finish()[1]
        with sv.Study.open(url, name="study", **sums()) as study:
            ids = study.ask(15).ids
            study.tell(ids, [0.5] * 15)
            assert study.status().asked in (15, 20)
    assert dead > 3


@pytest.mark.parametrize("late", [False, True])
def test_the_end_of_a_life_is_all_or_nothing(late, url):
    dead, generations = 0, set()
    with sv.Study.open(url, name="study", **sums()) as study:
        incarnation = study.status().incarnation

    def restore(report):
        sv.Study.open(url, name="study", restored=True).ask(5)

    for after in range(0, 40, 1 if SOAK else 6):
        with sv.Study.open(url, name="study") as study:
            ids = study.ask(17).ids
            study.tell(ids[:-1], [0.5] * 16)
        before = Look(url)
        dead += Child(doomed(restore, "statement", after, late)).finish()[1]
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
    assert dead > 3
    assert len(generations) > 3


@pytest.mark.parametrize(
    ("late", "limit"),
    sampled([(late, limit) for limit in ({"deadline": 1e-6}, {"patience": 5}) for late in (False, True)], [0, 3]),
)
def test_what_is_out_of_time_is_given_up_once_whenever_a_process_is_killed(limit, late, url):
    """With a deadline, rounds that are asked to their end are overdue at once: what was not told is given up."""
    sv.Study.open(url, name="study", **limit, **sums()).close()

    def work(report):
        study = sv.Study.open(url, name="study", repeat="ignore")
        for _ in range(3):
            ids = study.ask(7).ids
            with contextlib.suppress(RoundClosed):
                study.tell(ids[:3], [0.5] * 3)

    dead = 0
    for after in range(0, 140, 2 if SOAK else 14):
        dead += Child(doomed(work, "statement", after, late)).finish()[1]
        with sv.Study.open(url, name="study") as study:
            status, found = study.status(), study.verify()
        assert found.ok, str(found)
        assert status.told + status.forgotten + status.outstanding == status.asked
        assert status.outstanding <= (12 + 5 + 7 if "patience" in limit else 12)  # of rounds that are not out of it
    assert dead > 5
    assert status.forgotten > 20
