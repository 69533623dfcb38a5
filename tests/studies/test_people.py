"""People who are counted: in memory and in storages, nobody gives more losses than was promised."""

import stat
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from killing import arm
from study_tools import Look, believing, losses_of, path_of

import sottovoce as sv
from children import Child, forked_at_once
from sampling import sampled
from sottovoce.errors import StateRefused, StorageError
from sottovoce.rounds.stores.sql.errors import Deadlock
from sottovoce.rounds.stores.sql.sqlite import SqliteFile
from sottovoce.rounds.stores.sql.store import SqlStore
from sottovoce.studies import delete_study, move_study
from storages import outside

MOST = 3
NAMES = ["phone", "desktop"]
FREE = sv.NoPrivacy(contributions=MOST)


def counted_by(url):
    """Return how many losses of each hashed person are counted in a storage."""
    return sorted(losses for (losses,) in outside(url, "SELECT losses FROM sottovoce_people"))


def key_files(url):
    return sorted(Path(path_of(url)).parent.glob("*-people-*"))


class Played:
    """Asks for people, and compares what is wanted with a plain count."""

    def __init__(self):
        self.losses = Counter()

    def ask(self, optimizer, kind, people, segments=None):
        if kind == "one":
            people, segment = people[:1], None if segments is None else segments[0]
            actions = [optimizer.ask(person=people[0], segment=segment)]
        elif kind == "block":
            actions = list(optimizer.ask(person=people, segment=segments))
        else:
            actions = list(optimizer.ask_round(person=people, segment=segments))
        assert 0 < len(actions) <= len(people)
        asked = Counter(people[: len(actions)])  # within a call it is not said which of their losses are wanted
        wanted = Counter(one for one, action in zip(people, actions, strict=False) if action.wants_loss)
        assert wanted == +Counter({one: min(count, MOST - self.losses[one]) for one, count in asked.items()})
        self.losses += wanted
        return actions


CALLS = st.lists(
    st.tuples(
        st.sampled_from(["one", "block", "round"]),
        st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from(NAMES)), min_size=1, max_size=30),
        st.booleans(),
    ),
    max_size=12,
)


@given(calls=CALLS, segmented=st.booleans())
def test_each_person_is_asked_for_as_many_losses_as_were_promised_and_for_no_more(calls, segmented):
    """Whoever asks one by one, in blocks or by rounds, for whichever segments, and whatever is told or forgotten."""
    optimizer = sv.PrivateBandit(**believing(privacy=FREE, segments=NAMES if segmented else None))
    played = Played()
    for kind, events, tells in calls:
        people, segments = map(list, zip(*events, strict=True))
        for action in played.ask(optimizer, kind, people, segments if segmented else None):
            if tells:
                optimizer.tell(action.id, 0.5)
            else:
                optimizer.forget(action.id)


def test_processes_that_share_a_study_count_as_one(opened, url):
    """A random history by three who have the study open, and one who opens it again; all that is stored fits."""
    opened(url, **believing(privacy=FREE, patience=40)).close()
    studies, rng, played = [opened(url) for _ in range(3)], np.random.default_rng(1), Played()
    for turn in range(60):
        if turn == 30:
            studies[0].close()
            studies[0] = opened(url)
        study = studies[rng.integers(3)]
        people = [f"person {number}" for number in rng.integers(0, 60, rng.integers(1, 30))]
        actions = played.ask(study, ["one", "block", "round"][rng.integers(3)], people)
        told = [action.id for action in actions if rng.random() < 0.9]
        study.tell(told, losses_of(told))
    assert counted_by(url) == sorted(played.losses.values())
    assert studies[1].round > 3
    assert studies[1].verify().ok, str(studies[1].verify())


# ---------------------------------------------------------------------- at once, killed, cut short


@pytest.mark.timeout(600)
def test_processes_that_ask_for_one_person_at_once_never_get_more_than_was_promised(opened, url):
    opened(url, **believing(privacy=FREE)).close()

    def work(number, report):
        with sv.Study.open(url, name="study") as study:
            report("asked", [bool(study.ask(person="one").wants_loss) for _ in range(8)])
            report("asked", study.ask(person=["one", "two"] * 4).wants_loss.tolist()[::2])

    wanted = [one for said in forked_at_once(work) for _, many in said for one in many]
    assert len(wanted) == 4 * 12
    assert sum(wanted) == MOST
    assert counted_by(url) == [MOST, MOST]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("after", sampled([20, 1, 2, 3, 5, 8, 13, 31, 44], 2))
@pytest.mark.parametrize("late", [False, True])
def test_a_process_that_is_killed_has_counted_who_was_asked(after, late, opened, url):
    """The count may be too high, of those whose answer got lost; it is never too low."""
    opened(url, **believing(privacy=FREE)).close()

    def work(report):
        with sv.Study.open(url, name="study") as study:
            report("asked", bool(study.ask(person="one").wants_loss))
            arm("statement", after, late)
            for _ in range(MOST):
                report("asked", bool(study.ask(person="one").wants_loss))

    said, killed = Child(work).finish()
    assert killed or after > 20
    wanted = sum(one for _, one in said)
    study = opened(url)
    (counted,) = counted_by(url)
    assert wanted <= counted <= MOST
    assert sum(bool(study.ask(person="one").wants_loss) for _ in range(MOST)) == MOST - counted
    assert study.verify().ok


@pytest.fixture(params=["memory", "storage"])
def optimizer(request, opened, sqlite_url):
    if request.param == "memory":
        return sv.PrivateBandit(**believing(privacy=FREE))
    return opened(sqlite_url, **believing(privacy=FREE))


def test_a_call_that_is_cut_short_leaves_its_slots_to_the_same_people_or_to_nobody(optimizer, monkeypatch):
    def cut(pieces):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(optimizer._store, "hand_out", cut)
        with pytest.raises(KeyboardInterrupt):
            optimizer.ask(person=["one"] * MOST)
    assert optimizer.ask(person=["one"] * MOST).wants_loss.all()  # the very same, counted once
    with monkeypatch.context() as patched:
        patched.setattr(optimizer._store, "hand_out", cut)
        with pytest.raises(KeyboardInterrupt):
            optimizer.ask(person=["two"] * 2)
    assert [bool(optimizer.ask(person="one").wants_loss), bool(optimizer.ask(person="three").wants_loss)] == [
        False,
        True,
    ]
    assert optimizer.ask(person=["two"] * 2).wants_loss.tolist() == [True, False]
    assert optimizer.asked == MOST + 6


def test_a_transaction_that_is_carried_out_again_counts_once(opened, sqlite_url, monkeypatch):
    study = opened(sqlite_url, **believing(privacy=FREE))
    study.ask(person="one")
    attempts, commit = [], SqliteFile._commit

    def undone(base, begins):
        attempts.append(begins)
        if len(attempts) == 1:
            raise Deadlock
        commit(base, begins)

    monkeypatch.setattr(SqliteFile, "_commit", undone)
    assert study.ask(person=["one", "two", "one", "one"]).wants_loss.tolist() == [True, True, True, False]
    assert len(attempts) > 1
    assert counted_by(sqlite_url) == [1, MOST]


def test_slots_that_were_given_back_before_people_were_counted_are_of_use(opened, sqlite_url, monkeypatch):
    """A round of which they are is complete once the losses that it wants are there."""
    study = opened(sqlite_url, **believing(privacy=FREE))
    with monkeypatch.context() as patched:
        patched.setattr(SqlStore, "hand_out", lambda self, pieces: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            study.ask(6)
    study.close()
    again = opened(sqlite_url)
    assert any(row.reserved < row.reached for row in Look(sqlite_url).rounds)
    actions = again.ask(person=["one"] * 12)
    assert actions.wants_loss.tolist() == [True] * MOST + [False] * 9
    again.tell(actions.ids, [0.5] * 12)
    assert again.status().round == 1
    assert again.verify().ok


# ---------------------------------------------------------------------- counted or not


def test_a_study_counts_all_people_or_none(opened, sqlite_url):
    study, other = opened(sqlite_url, **believing()), opened(sqlite_url)
    study.ask(person="one")
    for ask in (other.ask, lambda: other.ask(3), other.ask_round, study.ask):
        with pytest.raises(TypeError, match="person is missing"):
            ask()
    assert other.asked == 1
    uncounted = opened(sqlite_url, name="other", **believing())
    uncounted.ask()
    with pytest.raises(StateRefused, match="without it"):
        uncounted.ask(person="one")
    uncounted.ask()
    begun = sv.PrivateBandit(**believing())
    begun.ask()
    with pytest.raises(StateRefused, match="without it"):
        begun.ask(person="one")


def test_what_is_no_person_is_refused_and_not_shown(optimizer):
    for wrong in (7.25, ["7.25", 7.25], [], {"7.25": 1}, b"7.25"):
        with pytest.raises(TypeError, match="person must be a string") as refused:
            optimizer.ask(person=wrong)
        assert "7.25" not in str(refused.value)
    with pytest.raises(ValueError, match="one for each of 3 events, got 2"):
        optimizer.ask(3, person=["7.25", "7.26"])
    optimizer.ask()  # nobody was counted


def test_a_person_is_one_however_the_string_is_written(optimizer):
    """Composed or decomposed, of whatever class: the same text is the same person."""

    class Odd(str):
        def encode(self, *_):
            return b"another"

    assert optimizer.ask(person="Zo\u00eb").wants_loss
    rest = [optimizer.ask(person=one).wants_loss for one in ("Zoe\u0308", Odd("Zo\u00eb"), np.str_("Zoe\u0308"))]
    assert rest == [True, True, False]  # three in all
    assert optimizer.ask(person="Zoe").wants_loss


# ---------------------------------------------------------------------- what is kept


def test_nothing_is_kept_of_a_person_but_a_keyed_hash_and_a_count(opened, sqlite_url):
    study = opened(sqlite_url, **believing())
    name = "ada@example.org"
    actions = study.ask(person=[name, "grace"])
    study.tell(actions.ids, [0.5, 0.5])
    found = outside(sqlite_url, "SELECT person, losses FROM sottovoce_people")
    assert sorted((len(person), losses) for person, losses in found) == [(16, 1), (16, 1)]
    everything = b"".join(path.read_bytes() for path in Path(path_of(sqlite_url)).parent.iterdir())
    assert name.encode() not in everything
    (key,) = key_files(sqlite_url)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert key.read_bytes() not in Path(path_of(sqlite_url)).read_bytes()
    twin = opened(sqlite_url, name="twin", **believing())
    twin.ask(person=name)
    hashes = outside(sqlite_url, "SELECT person FROM sottovoce_people")
    assert len(set(hashes)) == 3  # nobody is the same in two studies


@pytest.mark.parametrize("what", ["gone", "another"])
def test_a_study_whose_key_is_gone_counts_nobody_anew(what, opened, sqlite_url):
    study = opened(sqlite_url, **believing())
    study.ask(person="one")
    (key,) = key_files(sqlite_url)
    kept = key.read_bytes()
    key.unlink() if what == "gone" else key.write_bytes(b"\0" * 32)
    with pytest.raises(StorageError, match="put it back"):
        opened(sqlite_url).ask(person="one")
    key.write_bytes(kept)
    assert not opened(sqlite_url).ask(person="one").wants_loss


def test_people_are_erased_for_good(opened, url, optimizer):
    study, other = opened(url, name="ends", **believing()), opened(url, name="ends")
    waiting = [study.ask(person="one"), other.ask(person="two")]
    assert study.erase_people() == 2
    assert counted_by(url) == []
    if url.startswith("sqlite"):
        assert not key_files(url)
    for one in (study, other):
        with pytest.raises(StateRefused, match="erased"):
            one.ask(person="one")
        with pytest.raises(TypeError, match="person is missing"):
            one.ask()
    other.tell([one.id for one in waiting], [0.5, 0.5])
    assert other.erase_people() == 0
    assert other.verify().ok
    optimizer.ask(person="one")
    assert optimizer.erase_people() == 1
    with pytest.raises(TypeError, match="person is missing"):
        optimizer.ask()
    with pytest.raises(StateRefused, match="erased"):
        optimizer.ask(person="one")


def test_counts_and_their_key_move_with_a_study(opened, url, tmp_path):
    elsewhere = f"sqlite:///{tmp_path / 'other.db'}"
    study = opened(url, **believing(privacy=FREE))
    study.ask(person=["one", "one", "two"])
    study.close()
    for source, target in ((url, elsewhere), (elsewhere, url)):
        move_study(source, "study", target)
        for storage, there in ((source, 0), (target, 1)):
            assert not storage.startswith("sqlite") or len(key_files(storage)) == there
    again = opened(url)
    assert again.ask(person=["one", "one", "two"]).wants_loss.tolist() == [True, False, True]
    assert again.verify().ok
    again.close()
    delete_study(url, "study")
    assert counted_by(url) == []
    assert not url.startswith("sqlite") or not key_files(url)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("DELETE FROM sottovoce_people", "losses of people are counted"),
        ("UPDATE sottovoce_people SET losses = 5, most = 5", "more than 1 losses"),
        ("DELETE FROM sottovoce_people; DELETE FROM sottovoce_counting", "does not want the losses"),
        ("UPDATE sottovoce_counting SET key_check = NULL", "who were erased"),
    ],
)
def test_counts_that_were_changed_are_found(change, fault, opened, sqlite_url):
    study = opened(sqlite_url, **believing())
    study.ask(person=["one", "one", "two"])
    assert study.verify().ok
    for statement in change.split(";"):
        outside(sqlite_url, statement)
    found = study.verify()
    assert any(fault in one for one in found.faults), str(found)
