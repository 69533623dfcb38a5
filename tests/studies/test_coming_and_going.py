"""Nothing that was acknowledged is lost where handles close in order and come back while others tell their ids."""

import contextlib
import itertools
import os
import random
import time

import pytest
from coming_and_going import STEPS, Company
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from players import KINDS
from study_tools import SOAK, Look, ball, lease_ahead
from tallying import tally

from children import Child
from sampling import sampled
from sottovoce.errors import HorizonReached, UnknownAction

_numbers = itertools.count()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_told_after_a_stretch_was_given_back_is_on_record(kind, url):
    """One asks one by one, which reserves ahead; another tells the last id, and what it then asks for itself."""
    for asked in (14, 27):
        company = Company(kind, url, f"study {asked}", size=2)
        company.step("ask", 0, asked, 0)
        company.step("tell", 1, 0, 1)
        company.step("come_back", 0, 0, 0)
        for _ in range(3):
            company.step("ask_and_tell", 1, 3, 0)
        company.step("look", 1, 0, 0)
        for number in range(3):
            company.step("tell_again", 1, number, 0)
        company.step("verify", 1, 0, 0)
        company.conclude()
        company.close()


@pytest.mark.parametrize(("horizon", "most"), [(10**6, 100), (10_000, 39), (1000, 8)])
def test_blocks_lease_a_little_ahead_which_who_comes_next_gets(horizon, most, url, opened, monkeypatch):
    """An eighth of a round of 800, and a 256th of the horizon, is what a process that dies leaves to patience."""
    lease_ahead(monkeypatch)
    study = opened(url, **ball(horizon=horizon, batch_size=min(800, horizon // 2)))
    leased, left = 0, 0
    for _ in range(12):
        clock = Look(url).counters.clock
        study.tell(study.ask(16).ids, [0.5] * 16)
        leased, left = leased + (Look(url).counters.clock > clock), max(left, study._store.left(0))
    assert left == most
    assert leased < (12 if most > 16 else 13)
    study.close()
    assert Look(url).counters.clock == 12 * 16


steps = st.lists(
    st.tuples(st.sampled_from(STEPS), st.integers(0, 2), st.integers(1, 40), st.integers(0, 99)),
    min_size=20,
    max_size=50,
)


@pytest.mark.timeout(3600 if SOAK else 300)
@pytest.mark.parametrize("kind", sampled(KINDS, 1))
@given(steps=steps)
@settings(max_examples=300 if SOAK else 6, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
def test_whoever_comes_and_goes_every_acknowledged_loss_counts_once(kind, url, steps):
    company = Company(kind, url, f"study {next(_numbers)}")
    try:
        for step in steps:
            company.step(*step)
        company.conclude()
    finally:
        company.close()
    tally("a random history of handles that come and go", url, "every loss counts once")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "evaluations"])  # which have nothing in hand
def test_what_was_listed_and_then_given_back_is_nobodys_and_no_new_life_begins(kind, url, monkeypatch):
    """Ids that one has in hand are listed by others as outstanding. Given back, they wait for nobody; told, refused."""
    lease_ahead(monkeypatch)
    company = Company(kind, url, "study", size=2)
    company.step("ask", 0, 20, 0)
    for _ in range(100):
        company.step("ask", 0, 1, 0)
        company.step("look", 1, 0, 0)
        if company.listed:
            break
    assert company.listed
    handed_out, in_hand = list(company.model.waiting), list(company.listed)
    company.step("come_back", 0, 0, 0)
    for handle in company.handles:
        assert handle.forget(in_hand) == 0
        with pytest.raises(UnknownAction, match="given back"):
            handle.tell(in_hand[:1])
        with pytest.raises(UnknownAction, match="given back"):
            handle.tell([*handed_out[:3], in_hand[-1]])
    assert company.handles[1].waiting() == set(handed_out)
    company.step("ask", 1, len(in_hand) + 3, 0)
    company.step("ask_and_tell", 0, 3, 0)
    company.conclude()
    company.close()


# ---------------------------------------------------------------------- processes


def serving(kind, url, folder, who, seconds, least):
    """Return work of a process that comes and goes, and tells whatever ids lie in a folder, its own and others'.

    An id is a file; whoever removes it has it, and says what became of it.
    """

    def work(report):
        rng = random.Random(f"{kind} {who}")
        handle, end, turns = KINDS[kind](url, "study"), time.monotonic() + seconds, 0
        while turns < least or time.monotonic() < end:
            turns += 1
            what = rng.random()
            try:
                if what < 0.45:
                    ids = [handle.ask(turns % 3) for _ in range(rng.randint(1, 25))]
                elif what < 0.5:
                    ids = handle.block(rng.randint(1, 9), turns % 3)
                else:
                    ids = []
            except HorizonReached:
                ids = []
            report("asked", ids)
            for one in ids:
                (folder / one).touch()
            lying = sorted(os.listdir(folder), key=lambda one: _age(folder / one))
            mine = lying[:1] if what < 0.3 else rng.sample(lying, k=min(len(lying), rng.randint(0, 25)))
            mine = [one for one in mine if _takes(folder, one)]
            if mine and what > 0.95:
                report("forgot", [mine, handle.forget(mine)])
            elif mine and what > 0.85:
                handle.tell(mine)
                report("told", mine)
            else:
                for one in mine:
                    handle.tell([one])
                    report("told", [one])
            if rng.random() < 0.3:
                handle.come_back()
        handle.leave()

    return work


def _age(path):
    """Return when an id was handed out, the newest first; one that is taken meanwhile is old."""
    with contextlib.suppress(FileNotFoundError):
        return -path.stat().st_mtime_ns
    return 0


def _takes(folder, one):
    """Whether this process is the one that takes an id out of the folder."""
    try:
        os.unlink(folder / one)
    except FileNotFoundError:
        return False
    return True


@pytest.mark.timeout(3600 if SOAK else 300)
@pytest.mark.parametrize("kind", KINDS)
def test_processes_come_and_go_and_tell_each_others_ids(kind, url, shelf):
    seconds, processes, least = (60, 4, 100) if SOAK else (0, 3, 12)
    folder = shelf / "ids"
    folder.mkdir()
    many = {"events": [100_000] * 3} if kind == "evaluations" else {"horizon": 10**7}
    KINDS[kind].first(url, "study", **many).leave()
    children = [Child(serving(kind, url, folder, who, seconds, least)) for who in range(processes)]
    company = Company(kind, url, "study", size=0)
    told, forgot = [], []
    for said, _ in [child.finish() for child in children]:
        for what, ids in said:
            if what == "asked":
                company.model.asked(ids)
            elif what == "told":
                told += ids
            else:
                forgot += ids[0]
                company.model.forgotten += ids[1]
    assert len(told) == len(set(told))
    company.model.acknowledged(told)
    company.model.gave_up(forgot)
    assert len(told) > 3 * processes
    assert set(company.model.waiting) == set(os.listdir(folder))
    company.conclude()
    company.close()
    tally(f"{processes} processes that come and go, and tell each other's ids", url, f"{kind}: every loss counts once")
