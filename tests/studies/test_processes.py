"""Several processes on one study: totals exact, nobody stuck, everybody gets on; and one of them closes rounds."""

import os

import pytest
from killing import warm_up, work_on
from players import KINDS, Account
from study_tools import SOAK, Look, ball, believing, losses_of, sums

import sottovoce as sv
from children import Child, forked_at_once
from sottovoce.learning.policy import BanditPolicy

CALLS = 40 if SOAK else 10


@pytest.fixture(scope="module", autouse=True)
def warm(tmp_path_factory):
    warm_up(tmp_path_factory.mktemp("warm"), sums(), believing())


@pytest.mark.timeout(900)
@pytest.mark.parametrize("processes", [2, 4, 8] if SOAK else [4])
@pytest.mark.parametrize("kind", KINDS)
def test_processes_share_a_book(kind, processes, url):
    """Totals are exact, nobody is stuck, everybody gets on, and no action goes to two of them."""
    KINDS[kind].first(url, **{"events": (5, 9)} if kind == "evaluations" else {}).leave()
    work = [work_on(url, seed, calls=CALLS, kind=kind, forgets=0.0, ends=True) for seed in range(processes)]
    account, asked = Account(url, kind=kind), []
    for said, killed in [child.finish() for child in [Child(one) for one in work]]:
        assert not killed
        account.hear(said)
        assert any(what == "told" for what, _ in said)
        asked += [one for what, ids in said if what == "asked" for one in ids]
    assert len(asked) == len(set(asked)), "one action went to two processes"
    assert account.recover() == []
    with KINDS[kind](url) as handle:
        found = handle.opened.verify()
        assert found.ok, str(found)
        assert (handle.counts() or (len(asked),))[0] == len(asked)


@pytest.mark.timeout(900)
def test_processes_that_create_the_same_study_at_once_agree(url, tmp_path):
    """All but one find it there; the ledger is charged once."""
    ledger = tmp_path / "ledger.db"
    sv.Ledger(sv.PureDP(1.0), ledger)

    def create(number, report):
        charged = sv.Ledger(sv.PureDP(1.0), ledger)
        with sv.Study.open(url, name="study", seed=4, ledger=charged, **ball(privacy=sv.PureDP(1.0))) as study:
            report("asked", study.ask(3).ids.tolist())

    ids = [one for said in forked_at_once(create, 6) for one in said[0][1]]
    assert len(set(ids)) == 18
    assert Look(url).counters.clock == 18
    assert len(sv.Ledger(sv.PureDP(1.0), ledger).entries) == 1


def all_but_one(study):
    block = study.ask_round()
    study.tell(block.ids[:-1], losses_of(block.ids[:-1]))
    return block.ids[-1]


def test_a_process_that_dies_while_it_closes_a_round_holds_up_nobody(url, opened, monkeypatch):
    study = opened(url, **ball())
    last = all_but_one(study)
    study.close()

    def work(report):
        mine = sv.Study.open(url, name="study")
        monkeypatch.setattr(BanditPolicy, "compute", lambda *_: os._exit(0))
        mine.tell(last, 0.5)

    said, killed = Child(work).finish()
    assert (said, killed) == ([], False)
    status = opened(url).status()
    assert (status.told, status.round) == (8, 1)


def test_a_round_that_several_processes_complete_at_once_is_closed_once(url, opened):
    """Each tells one of its last losses, so that none sees the round complete before its own commit."""
    study = opened(url, **ball(privacy=sv.PureDP(1.0)))
    ids = study.ask_round().ids
    study.close()

    def work(one):
        def tell(report):
            with sv.Study.open(url, name="study") as mine:
                mine.tell(one, 0.5)

        return tell

    for child in [Child(work(one)) for one in ids]:
        child.finish()
    assert len(Look(url).releases) == 1  # nobody has looked since
    assert opened(url).verify().ok
