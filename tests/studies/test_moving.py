"""Studies that are deleted, renamed and moved: nothing is lost, and at no moment can two release the same losses."""

import itertools
import threading

import numpy as np
import pytest
from study_tools import Look, ball, sums

import sottovoce as sv
from sottovoce.errors import StudyNotFound
from sottovoce.rounds.stores.sql.postgresql import PostgresServer
from sottovoce.rounds.stores.sql.schema import TABLES
from sottovoce.rounds.stores.sql.sqlite import SqliteFile
from sottovoce.studies import delete_study, list_studies, move_study, rename_study, verify_stored
from storages import outside


class Killed(BaseException):
    """Stands for a kill."""


def elsewhere(tmp_path):
    return f"sqlite:///{tmp_path / 'elsewhere.db'}"


def begun(opened, url, **options):
    """A study with a released round, one that has a part of its losses, and its ids."""
    study = opened(url, name="spring", **sums(privacy=sv.PureDP(1.0), **options))
    first = study.ask_round()
    study.tell(first.ids, np.full(len(first), 0.5))
    rest = study.ask(5)
    study.tell(rest.ids[:3], np.full(3, 0.25))
    return study, rest.ids


def finish(study, ids):
    """Tell what is missing, and close the round."""
    study.tell(ids[3:], np.full(2, 0.25))
    rest = study.ask_round()
    study.tell(rest.ids, np.full(len(rest), 0.25))


def count(url, table):
    return outside(url, f"SELECT count(*) FROM sottovoce_{table}")[0][0]


def openable(urls):
    """Return where the study can be opened."""
    return [url for url in urls if any(one.name == "spring" for one in _listed(url))]


def _listed(url):
    try:
        return list_studies(url)
    except sv.errors.StorageError:  # it does not exist
        return ()


@pytest.mark.parametrize("back", [False, True], ids=["there", "and back"])
def test_a_moved_study_goes_on_with_its_open_rounds_and_ids(url, opened, tmp_path, back):
    study, ids = begun(opened, url)
    before, other = study.status(), elsewhere(tmp_path)
    move_study(url, "spring", other)
    for call in (lambda: study.tell(ids[3], 0.5), lambda: study.ask(600), study.status):
        with pytest.raises(StudyNotFound, match="gone from"):
            call()
    with pytest.raises(StudyNotFound, match=r"'spring' was moved to .*: open it there"):
        sv.Study.open(url, name="spring")
    if back:
        move_study(other, "spring", url)
        url, other = other, url
    assert openable([url, other]) == [other]
    moved = opened(other, name="spring")
    after = moved.status()
    assert (after.round, after.told, after.incarnation) == (before.round, before.told, before.incarnation)
    with pytest.raises(sv.errors.AlreadyTold):
        moved.tell(ids[0], 0.5)
    finish(moved, ids)
    assert moved.status().round == 2
    assert verify_stored(other, "spring").ok


def test_nothing_of_a_moved_study_stays_but_where_it_went(sqlite_url, postgres_url, opened):
    begun(opened, sqlite_url)[0].close()
    move_study(sqlite_url, "spring", postgres_url)
    for table in set(TABLES) - {"schema", "books"}:
        assert count(sqlite_url, table) == 0
    assert Look(sqlite_url, "spring").counters.secret == b""
    move_study(sqlite_url, "spring", postgres_url)  # once more changes nothing
    delete_study(sqlite_url, "spring")
    assert count(sqlite_url, "books") == 0
    opened(postgres_url, name="spring").ask()


def killed_after(monkeypatch, allowed, names):
    """Let so many commits happen, or statements too, in all databases, and then kill."""
    count = itertools.count()

    def watched(kind, name):
        original = getattr(kind, name)

        def call(self, *arguments):
            if next(count) == allowed:
                raise Killed
            found = original(self, *arguments)
            if name == "_commit" and next(count) == allowed:
                raise Killed  # it is on record, and nobody has heard of it
            return found

        monkeypatch.setattr(kind, name, call)

    for kind in (SqliteFile, PostgresServer):
        for name in names:
            watched(kind, name)


@pytest.mark.parametrize("direction", ["to a server", "to a file"])
@pytest.mark.parametrize("names", [["_commit"], pytest.param(["_commit", "_execute"], marks=pytest.mark.long)])
def test_a_move_that_is_killed_leaves_one_study_at_most_and_goes_on(
    sqlite_url, postgres_url, opened, monkeypatch, direction, names
):
    """Before and after each commit, and at every other statement; said again, the move ends, and nothing is lost."""
    here, there = (sqlite_url, postgres_url) if direction == "to a server" else (postgres_url, sqlite_url)
    study, ids = begun(opened, here)
    told, seen = study.status().told, set()
    study.close()
    for allowed in itertools.count(step=len(names)):
        with monkeypatch.context() as patched:
            killed_after(patched, allowed, names)
            try:
                move_study(here, "spring", there)
            except Killed:
                done = False
            else:
                done = True
        found = openable([here, there])
        assert len(found) <= 1
        seen.add(tuple(found))
        if not done and allowed % 3 == 1:  # as if it was given up; unless it has left
            try:
                move_study(here, "spring", here)
                assert openable([here, there]) == [here]
            except ValueError:
                pass
        move_study(here, "spring", there)
        assert openable([here, there]) == [there]
        with sv.Study.open(there, name="spring") as study:
            assert study.status().told == told
            assert study.outstanding().ids.tolist() == ids[3:].tolist()
        if done:
            break
        move_study(there, "spring", here)
    assert seen == {(here,), (), (there,)}
    with sv.Study.open(there, name="spring") as study:
        finish(study, ids)
        assert study.status().round == 2
    assert verify_stored(there, "spring").ok


def test_a_copy_of_a_broken_seal_never_becomes_a_study(sqlite_url, postgres_url, opened, tmp_path, monkeypatch):
    """Copied to one storage, taken back, moved to another: the first copy holds losses that are released elsewhere."""
    begun(opened, sqlite_url)[0].close()
    third = f"sqlite:///{tmp_path / 'third.db'}"
    killed_before(monkeypatch, "_leave", sqlite_url, "spring", postgres_url)
    with pytest.raises(StudyNotFound, match="is on its way from"):
        sv.Study.open(postgres_url, name="spring")
    move_study(sqlite_url, "spring", third)
    with pytest.raises(StudyNotFound, match=r"was moved to .*third\.db, and not to"):
        move_study(sqlite_url, "spring", postgres_url)
    assert openable([sqlite_url, postgres_url, third]) == [third]
    delete_study(postgres_url, "spring")
    assert count(postgres_url, "chunks") == 0


def test_a_sealed_study_takes_nothing_and_can_be_taken_back(url, opened, tmp_path, monkeypatch):
    study, ids = begun(opened, url)
    before, other = study.status(), elsewhere(tmp_path)
    killed_before(monkeypatch, "_leave", url, "spring", other)
    for call in (lambda: study.tell(ids[3], 0.5), lambda: study.ask(600), lambda: study.forget(ids)):
        with pytest.raises(StudyNotFound):
            call()
    with pytest.raises(StudyNotFound, match="was sealed, to be moved"):
        sv.Study.open(url, name="spring")
    with pytest.raises(StudyNotFound, match="was sealed, to be moved"):
        delete_study(url, "spring")
    move_study(url, "spring", url)
    again = opened(url, name="spring")
    assert (again.status().told, again.status().round) == (before.told, before.round)
    finish(again, ids)


def killed_before(monkeypatch, step, *arguments):
    """Begin a move that is killed before one of its steps."""
    with monkeypatch.context() as patched:
        patched.setattr(f"sottovoce.rounds.stores.sql.moving.{step}", lambda *given: (_ for _ in ()).throw(Killed()))
        with pytest.raises(Killed):
            move_study(*arguments)


def test_a_sealed_study_is_not_lost_to_the_storage_it_is_in_under_another_url(url, opened, tmp_path, monkeypatch):
    study, _ = begun(opened, url)
    told = study.status().told
    killed_before(monkeypatch, "_copy", url, "spring", elsewhere(tmp_path))
    same = url.replace(":////", ":////./").replace("127.0.0.1", "localhost")
    assert same != url
    with pytest.raises(ValueError, match="has another one called 'spring'"):
        move_study(url, "spring", same)
    move_study(url, "spring", url)
    assert opened(url, name="spring").status().told == told
    assert verify_stored(url, "spring").ok


def test_a_move_that_is_said_again_changes_nothing_where_its_study_has_been(url, opened, tmp_path, monkeypatch):
    """It arrived, and the old storage did not hear of it: it has gone on since, or is deleted."""
    _, ids = begun(opened, url)
    there, third = elsewhere(tmp_path), f"sqlite:///{tmp_path / 'third.db'}"
    killed_before(monkeypatch, "_finish", url, "spring", there)
    move_study(there, "spring", third)
    move_study(url, "spring", there)
    with pytest.raises(StudyNotFound, match=r"moved to .*third\.db: open it there"):
        sv.Study.open(there, name="spring")
    finish(opened(third, name="spring"), ids)

    move_study(third, "spring", url)
    killed_before(monkeypatch, "_finish", url, "spring", third)
    delete_study(third, "spring")
    sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(1.0), storage=third, name="spring").close()
    move_study(url, "spring", third)
    assert sv.PrivateEvaluations(storage=third, name="spring").verify().ok


def test_what_is_told_while_a_study_is_moved_is_in_it_or_refused(postgres_url, opened, tmp_path):
    """Acknowledged losses are all there afterwards, and no other is."""
    other = elsewhere(tmp_path)
    study = opened(postgres_url, name="spring", **sums(privacy=sv.PureDP(1.0)))
    ids, told, started = study.ask_round().ids, [], threading.Event()

    def tell_all():
        for one in ids:
            try:
                study.tell(one, 0.25)
            except StudyNotFound:
                return
            told.append(one)
            started.set()

    thread = threading.Thread(target=tell_all)
    thread.start()
    started.wait(600)
    move_study(postgres_url, "spring", other)
    thread.join()
    moved = opened(other, name="spring")
    assert moved.status().told == len(told)
    if len(told) < len(ids):
        assert moved.outstanding().ids.tolist() == [one for one in ids if one not in told]


def test_a_ledger_is_charged_once_for_a_study_that_was_moved(sqlite_url, postgres_url, tmp_path):
    ledger = sv.Ledger(sv.PureDP(1.0), tmp_path / "people.ledger")
    sv.Study.open(sqlite_url, name="spring", ledger=ledger, **sums(privacy=sv.PureDP(1.0))).close()
    move_study(sqlite_url, "spring", postgres_url)
    sv.Study.open(postgres_url, name="spring", ledger=ledger).close()
    assert ledger.spent == 1.0


def test_a_name_that_is_taken_is_refused_before_anything_is_sealed(url, opened, tmp_path):
    other = elsewhere(tmp_path)
    study, _ = begun(opened, url)
    opened(other, name="spring", **ball())
    opened(url, name="autumn", **ball())
    with pytest.raises(ValueError, match="has another one called 'spring'"):
        move_study(url, "spring", other)
    with pytest.raises(ValueError, match="to='autumn' is taken"):
        rename_study(url, "spring", "autumn")
    with pytest.raises(StudyNotFound, match="no such study"):
        move_study(url, "winter", other)
    study.ask()


def test_a_renamed_study_goes_on_in_all_processes(url, opened):
    study, ids = begun(opened, url)
    rename_study(url, "spring", "summer")
    finish(study, ids)
    again = opened(url, name="summer")
    assert again.status().round == 2
    with pytest.raises(StudyNotFound, match="no such study"):
        sv.Study.open(url, name="spring")
    assert verify_stored(url, "summer").ok


def test_a_deleted_study_is_gone_with_its_losses_and_its_number_is_not_used_again(url, opened):
    study, ids = begun(opened, url)
    delete_study(url, "spring")
    new = opened(url, name="spring", **sums(privacy=sv.PureDP(1.0)))
    actions = new.ask(4)
    new.tell(actions.ids, np.full(4, 0.5))
    for call in (lambda: study.tell(ids[3], 0.5), lambda: study.ask(600)):
        with pytest.raises(StudyNotFound, match="deleted"):
            call()
    study.close()
    assert (new.status().told, new.status().incarnation) == (4, 1)
