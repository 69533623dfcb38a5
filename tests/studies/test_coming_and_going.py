"""Several who open one book, close it, come back, and tell each other's ids: nothing is lost, and nobody is stuck."""

import pytest
from killing import Post, warm_up, work_on
from players import KINDS, Account
from study_tools import SOAK, Look, ball, believing, sums

import sottovoce as sv
from children import Child, forked_at_once
from sampling import every
from sottovoce.errors import AlreadyTold, UnknownAction
from storages import lease_ahead


@pytest.fixture(scope="module", autouse=True)
def warm(tmp_path_factory):
    warm_up(tmp_path_factory.mktemp("warm"), sums(), believing())


@pytest.mark.parametrize("kind", KINDS)
@every("asked", [14, 27])
def test_what_is_told_after_a_stretch_was_given_back_is_on_record(kind, asked, url, monkeypatch):
    """One asks one by one, which reserves ahead; another tells the last id, and what it then asks for itself."""
    lease_ahead(monkeypatch)
    name = f"study of {asked}"
    with KINDS[kind].first(url, name) as one, KINDS[kind](url, name) as other:
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
        account = Account(url, name=name, kind=kind)
        account.hear([(what, {*ids, *told}) for what in ("asked", "telling", "told")])
        account.check()


@every(("horizon", "most"), [(10**6, 128), (10_000, 39), (1000, 8)])
def test_blocks_lease_a_little_ahead_which_who_comes_next_gets(horizon, most, sqlite_url, opened, monkeypatch):
    """A sixth of a round of 800, and a 256th of the horizon, is what a process that dies leaves to patience.

    A lease of a sixth, 133, ends with the nearest chunk of 64: with the second, or the third.
    """
    lease_ahead(monkeypatch)
    study = opened(sqlite_url, f"of {horizon}", **ball(horizon=horizon, batch_size=min(800, horizon // 2)))
    leased, left = 0, 0
    for _ in range(16):
        clock = Look(sqlite_url, f"of {horizon}").counters.clock
        study.tell(study.ask(16).ids, [0.5] * 16)
        leased, left = (
            leased + (Look(sqlite_url, f"of {horizon}").counters.clock > clock),
            max(left, study._store.left(0)),
        )
    assert left == most
    assert leased < (16 if most > 16 else 17)
    study.close()
    assert Look(sqlite_url, f"of {horizon}").counters.clock == 16 * 16


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


@pytest.mark.timeout(1800 if SOAK else 300)
@pytest.mark.parametrize("processes", [2, 4, 8] if SOAK else [3])
@pytest.mark.parametrize("kind", KINDS)
def test_processes_come_and_go_and_tell_each_others_ids(kind, processes, url, shelf):
    """Totals are exact, nobody is stuck, everybody gets on, and no action goes to two of them."""
    calls = 150 if SOAK else 20
    many = {"events": [100_000] * 3} if kind == "evaluations" else {"horizon": 10**7}
    KINDS[kind].first(url, **many).leave()
    post = Post(shelf / "ids")
    work = [work_on(url, seed, calls=calls, kind=kind, post=post) for seed in range(processes)]
    account, ids = Account(url, kind=kind), {"asked": [], "told": []}
    for said, killed in [child.finish() for child in [Child(one) for one in work]]:
        assert not killed
        account.hear(said)
        assert any(what == "told" for what, _ in said)
        for what, mine in said:
            ids.setdefault(what, []).extend(mine)
    assert len(ids["asked"]) == len(set(ids["asked"])), "one action went to two processes"
    assert len(ids["told"]) == len(set(ids["told"]))
    assert set(account.recover()) == set(post.left())
    with KINDS[kind](url) as handle:
        assert (handle.counts() or (len(ids["told"]),))[0] == len(ids["told"])
        found = handle.opened.verify()
        assert found.ok, str(found)


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
