"""Nothing that was acknowledged is lost where handles close in order, come back, and tell the ids of one another."""

import pytest
from killing import Post, work_on
from players import KINDS, Account
from study_tools import SOAK, Look, ball, lease_ahead

from children import Child
from sottovoce.errors import AlreadyTold, UnknownAction


@pytest.mark.parametrize("asked", [14, 27])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_told_after_a_stretch_was_given_back_is_on_record(kind, asked, url, monkeypatch):
    """One asks one by one, which reserves ahead; another tells the last id, and what it then asks for itself."""
    lease_ahead(monkeypatch)
    with KINDS[kind].first(url) as one, KINDS[kind](url) as other:
        ids = [one.ask() for _ in range(asked)]
        other.tell(ids[-1:])
        one.come_back()
        told = ids[-1:]
        for _ in range(6):
            told.append(other.ask())
            other.tell(told[-1:])
        assert other.waiting() == set(ids[:-1])
        for mine in told:
            with pytest.raises(AlreadyTold):
                one.tell([mine])
        one.tell(ids[:-1])
        assert one.opened.verify().ok
        account = Account(url, kind=kind)
        account.hear([(what, {*ids, *told}) for what in ("asked", "telling", "told")])
        account.check()


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


@pytest.mark.parametrize("kind", ["a study", "segments"])
def test_what_was_listed_and_then_given_back_is_nobodys_and_no_new_life_begins(kind, url, monkeypatch):
    """Ids that one has in hand are listed by others as outstanding. Given back, they wait for nobody; told, refused."""
    lease_ahead(monkeypatch)
    with KINDS[kind].first(url) as one, KINDS[kind](url) as other:
        handed_out = {one.ask() for _ in range(20)}
        while not (in_hand := sorted(other.waiting() - handed_out)):
            handed_out.add(one.ask())
        one.come_back()
        for handle in (one, other):
            assert handle.forget(in_hand) == 0
            for ids in (in_hand[:1], [*sorted(handed_out)[:3], in_hand[-1]]):
                with pytest.raises(UnknownAction, match="given back"):
                    handle.tell(ids)
        assert other.waiting() == handed_out
        fresh = [other.ask() for _ in range(len(in_hand) + 3)]
        assert not handed_out & set(fresh)
        one.tell([*handed_out, *fresh])
        assert other.opened.verify().ok


@pytest.mark.timeout(3600 if SOAK else 300)
@pytest.mark.parametrize("kind", KINDS)
def test_processes_come_and_go_and_tell_each_others_ids(kind, url, shelf):
    processes, calls = (4, 400) if SOAK else (3, 20)
    many = {"events": [100_000] * 3} if kind == "evaluations" else {"horizon": 10**7}
    KINDS[kind].first(url, **many).leave()
    post = Post(shelf / "ids")
    work = [work_on(url, seed, calls=calls, kind=kind, post=post) for seed in range(processes)]
    account, told = Account(url, kind=kind), []
    for said, _ in [child.finish() for child in [Child(one) for one in work]]:
        account.hear(said)
        told += [one for what, ids in said if what == "told" for one in ids]
    assert len(told) == len(set(told)) > 3 * processes
    assert set(account.recover()) == set(post.left())
