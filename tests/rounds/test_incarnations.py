"""A database that goes back under running processes is noticed, and one new incarnation begun; so it is on demand."""

from collections.abc import Callable

import numpy as np
import pytest

from sottovoce.errors import StudyBehind, UnknownAction
from sottovoce.rounds.round import Shape, incarnation_of
from sottovoce.rounds.stores.sql._book_rows import MOST
from sottovoce.rounds.stores.sql.store import SqlStore

from .policies import BareBook, Sums
from .tools import Backup, ask, opened, rows, tell


def incarnation(url: str) -> int:
    return int(rows(url, "SELECT incarnation FROM sottovoce_books")[0][0])


def cells(url: str) -> int:
    return int(rows(url, "SELECT count(*) FROM sottovoce_cells")[0][0])


def work(book: BareBook, events: int, told: int | None = None, stream: int = 0) -> list[int]:
    ids = ask(book, events, stream)
    tell(book, ids[:told])
    return ids


def test_what_is_restored_drops_what_is_not_released_and_goes_on(url: str) -> None:
    with opened(url, 2) as (one, other):
        ids = work(one, 50, told=40)
        before = [release.numbers.tolist() for release in one.store.releases(0, 0)]
        other.store.restore()
        assert cells(url) == 0
        assert one.store.open_rounds() == []
        with pytest.raises(UnknownAction, match="before the storage was restored"):
            tell(one, ids[40:])
        released = one.store.releases(0, 0)
        assert [release.numbers.tolist() for release in released[: len(before)]] == before
        assert [release.numbers for release in released[len(before) :]] == [None]
        assert released[-1].round.size == 50 - 30
        assert (one.store.closed()[0], one.asked, one.store.tallied()[0]) == (2, 50, 40)
        fresh = work(one, 40)
        assert not {other & 2**36 - 1 for other in fresh} & {other & 2**36 - 1 for other in ids}
        assert one.store.releases(0, 2)[0].round.position == 50
        assert {incarnation_of(each) for each in fresh} == {incarnation(url)}


def test_two_restorations_of_one_backup_are_two_incarnations(url: str) -> None:
    with opened(url) as (book,):
        work(book, 5)
        backup, found = Backup(url), set()
        for _ in range(2):
            backup.put_back()
            with opened(url) as (again,):
                again.store.restore()
                found.add(incarnation(url))
        assert len(found) == 2


CALLS: dict[str, Callable[[BareBook, list[int]], object]] = {
    "ask": lambda book, ids: book.ask_one(0),
    "a block": lambda book, ids: book.ask_block(7, 1),
    "tell": lambda book, ids: tell(book, ids[20:]),
    "tell one": lambda book, ids: book.tell_one(ids[20], 0.5),
    "forget": lambda book, ids: book.forget(np.array(ids[20:])),
    "look": lambda book, ids: book.store.check(),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_process_notices_that_its_storage_went_back(call: str, url: str) -> None:
    with opened(url) as (book,):
        work(book, 17)
        backup = Backup(url)
        ids = work(book, 40, told=20)
        backup.put_back()
        with pytest.raises(StudyBehind):
            CALLS[call](book, ids)
        assert incarnation(url) > 1
        assert cells(url) == 0  # losses that may have been released since: they are released no more
        with pytest.raises(UnknownAction):
            book.tell_one(ids[-1], 0.5)
        fresh = work(book, 24)
        assert not set(fresh) & set(ids)


def test_a_round_is_not_released_again_after_a_rollback(url: str) -> None:
    with opened(url, size=12) as (book,):
        ids = work(book, 12, told=-1)
        backup = Backup(url)
        book.tell_one(ids[-1], 0.5)
        assert book.store.closed()[0] == 1
        backup.put_back()
        with pytest.raises(StudyBehind):
            book.tell_one(ids[-1], 0.5)
        assert [release.numbers for release in book.store.releases(0, 0)] == [None]


def test_a_history_that_went_another_way_is_noticed_however_far_it_has_come(url: str) -> None:
    with opened(url) as (one,):
        work(one, 5)
        backup = Backup(url)
        work(one, 9, told=4)
        backup.put_back()
        with opened(url) as (stranger,):  # opened after the rollback: it cannot know
            for _ in range(8):
                work(stranger, 6)
            with pytest.raises(StudyBehind):
                one.ask_one(0)
            stranger.ask_one(0)
            assert stranger.store.incarnation == one.store.incarnation > 1


def test_what_others_had_written_counts_too(url: str) -> None:
    """A process that only looked has seen what another one wrote; that one is gone, and so is what it wrote."""
    with opened(url) as (looker,):
        work(looker, 3)
        backup = Backup(url)
        with opened(url) as (writer,):
            work(writer, 9)
            looker.store.check()
        backup.put_back()
        with opened(url) as (stranger,):
            for _ in range(4):
                work(stranger, 6)
            with pytest.raises(StudyBehind):
                looker.store.check()


def test_all_that_notice_begin_one_new_incarnation(url: str) -> None:
    with opened(url, 3) as books:
        for book in books:
            work(book, 5)
        backup = Backup(url)
        old = [work(book, 7, told=3) for book in books]
        backup.put_back()
        with pytest.raises(StudyBehind):
            books[0].ask_one(0)
        found, fresh = incarnation(url), work(books[0], 5)
        for book, ids in zip(books[1:], old[1:], strict=True):
            book.ask_one(0)
            with pytest.raises(UnknownAction, match="before the storage was restored"):
                book.tell_one(ids[-1], 0.5)
        assert incarnation(url) == found
        assert len(fresh) == rows(url, "SELECT sum(closed) FROM sottovoce_cells")[0][0]


@pytest.mark.parametrize("call", ["one more", "the same block", "another cell", "ask"])
def test_a_storage_that_lost_nothing_but_tells_is_noticed_by_whoever_told_them(call: str, url: str) -> None:
    """The head does not move with a tell: what was told last is looked at by itself."""
    with opened(url, size=300, horizon=None) as (book,):
        first, second = ask(book, 20), ask(book, 270)[-20:]
        book.tell_one(first[0], 0.25)
        backup = Backup(url)
        book.tell_one(first[1], 0.25)
        backup.put_back()
        calls = {
            "one more": lambda: book.tell_one(first[2], 0.25),
            "the same block": lambda: tell(book, first[2:9]),
            "another cell": lambda: tell(book, second[:5]),
            "ask": lambda: book.ask_block(3),
        }
        with pytest.raises(StudyBehind):
            calls[call]()
        assert incarnation(url) > 1
        assert cells(url) == 0


def test_an_id_that_the_storage_does_not_know_yet_ends_one_incarnation_only(url: str) -> None:
    with opened(url) as (late,):
        work(late, 17)
        backup = Backup(url)
        ids = work(late, 60, told=0)
        backup.put_back()
    with opened(url, 2) as (one, other):
        with pytest.raises(StudyBehind):
            one.tell_one(ids[-1], 0.5)
        found = incarnation(url)
        fresh = ask(one, 3)
        tell(one, fresh)
        with pytest.raises(UnknownAction):
            other.tell_one(ids[-2], 0.5)
        assert incarnation(url) == found > 1


def test_many_processes_that_come_and_go_are_no_rollback(url: str) -> None:
    """Only the latest writers are remembered; one that was silent for long goes on."""
    with opened(url) as (silent,):
        ids = work(silent, 3, told=1)
        for _ in range(MOST + 3):
            brief = BareBook(SqlStore(silent.store._base, silent.store._book, Shape()), Sums(), horizon=None)
            brief.ask_one(1)
        tell(silent, ids[1:])
        assert incarnation(url) == 1
        silent.store.check()


def test_what_was_learned_from_releases_that_are_gone_is_learned_no_more(url: str) -> None:
    """Else the next release of the same number would never be learned from."""
    with opened(url, size=10) as (book,):
        for _ in range(3):
            work(book, 11)
        backup = Backup(url)
        for _ in range(4):
            work(book, 11)
        backup.put_back()
        with pytest.raises(StudyBehind):
            book.ask_one(0)
        for _ in range(3):
            work(book, 11)
        book.catch_up()
        assert book.policy.rounds[0] == book.store.closed()[0]
