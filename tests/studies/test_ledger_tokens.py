"""Studies and the ledger: the life that a storage holds is charged once, and every copy of it is another."""

import os
import shutil
import signal

import pytest
from study_tools import Backup, Look, ask_and_tell, connected, path_of, rows, sums

import sottovoce as sv
from children import Child
from sottovoce.errors import LedgerConflict, LedgerExceeded, StudyBehind
from sottovoce.rounds.stores.sql.errors import Deadlock
from sottovoce.rounds.stores.sql.store import SqlStore

MADE = sums(privacy=sv.PureDP(1.0))


@pytest.fixture
def ledger(tmp_path):
    return sv.Ledger(sv.PureDP(10.0), tmp_path / "ledger")


def copied(url, folder, number):
    other = folder / f"copy-{number}.db"
    shutil.copy(path_of(url), other)
    return f"sqlite:///{other}"


def stored_right(url):
    with connected(url) as connection:
        return next(iter(rows(connection, "SELECT * FROM sottovoce_ledger_tokens")), None)


def test_a_life_that_begins_with_a_second_attempt_presents_its_token_once(opened, sqlite_url, ledger, monkeypatch):
    """Transactions that wait for one another in a circle are undone, and tried again: the ledger cannot be undone."""
    ask_and_tell(opened(sqlite_url, **MADE, ledger=ledger), 24)
    save, undone = SqlStore._save, []

    def undone_once(self, counters, steps):
        if not undone:
            undone.append(counters.incarnation)
            raise Deadlock("in a circle")
        save(self, counters, steps)

    monkeypatch.setattr(SqlStore, "_save", undone_once)
    study = opened(sqlite_url, ledger=ledger, restored=True)
    assert undone[0] > 1
    assert study.status().incarnation > 1
    assert ledger.spent == 1.0
    study.close()
    assert opened(sqlite_url, ledger=ledger).status().incarnation > 1
    assert ledger.spent == 1.0


@pytest.mark.parametrize("restored", [True, False])
def test_six_copies_of_a_study_are_six_lives(opened, sqlite_url, tmp_path, ledger, restored):
    """The first to present the token wins: the original, which comes last, is another life by then."""
    study = opened(sqlite_url, **MADE, ledger=ledger)
    ask_and_tell(study, 24)
    study.close()
    copies = [copied(sqlite_url, tmp_path, number) for number in range(6)]
    for lives, copy in enumerate(copies, start=1):
        ask_and_tell(opened(copy, ledger=ledger, restored=restored), 24)
        assert ledger.spent == lives
    opened(sqlite_url, ledger=ledger)
    assert ledger.spent == 7.0
    for url in (*copies, sqlite_url):  # each goes on as the life that it is
        opened(url, ledger=ledger)
    assert ledger.spent == 7.0


def test_a_copy_that_nobody_pays_for_is_refused(opened, sqlite_url, tmp_path):
    ledger = sv.Ledger(sv.PureDP(1.0), tmp_path / "ledger")
    opened(sqlite_url, **MADE, ledger=ledger).close()
    copy = copied(sqlite_url, tmp_path, 0)
    opened(sqlite_url, ledger=ledger)
    for restored in (True, False):
        with pytest.raises(LedgerExceeded):
            opened(copy, ledger=ledger, restored=restored)
    assert ledger.spent == 1.0


@pytest.mark.parametrize("budget", [10.0, 1.0])
def test_a_rollback_that_a_running_process_notices_is_charged_with_the_new_life(opened, url, tmp_path, budget):
    """The token in the storage is used up: it goes on as another life, in one transaction with that, or not at all."""
    ledger = sv.Ledger(sv.PureDP(budget), tmp_path / "ledger")
    opened(url, **MADE, ledger=ledger).close()
    backup = Backup(url)
    study = opened(url, ledger=ledger)
    ask_and_tell(study, 24)
    backup.put_back()
    for _ in range(1 if budget > 1 else 2):
        with pytest.raises(StudyBehind if budget > 1 else LedgerExceeded):
            study.ask()
    assert ledger.spent == min(budget, 2.0)
    assert (Look(url).counters.incarnation > 1) == (budget > 1)
    if budget > 1:
        ask_and_tell(study, 24)
        opened(url, ledger=ledger)
        assert ledger.spent == 2.0


def test_a_new_life_of_a_charged_study_needs_the_ledger(opened, sqlite_url, ledger):
    opened(sqlite_url, **MADE, ledger=ledger).close()
    with pytest.raises(LedgerConflict, match="pass ledger="):
        opened(sqlite_url, restored=True)
    assert opened(sqlite_url).status().incarnation == 1  # resumed: the same life, in the same storage
    assert opened(sqlite_url, ledger=ledger, restored=True).status().incarnation > 1
    assert ledger.spent == 1.0


def test_a_study_made_without_a_ledger_is_charged_when_one_is_passed(opened, sqlite_url, ledger):
    opened(sqlite_url, **MADE).close()
    assert stored_right(sqlite_url) is None
    opened(sqlite_url, ledger=ledger).close()
    opened(sqlite_url, ledger=ledger)
    assert ledger.spent == 1.0


def test_simulated_noise_is_not_entered(opened, sqlite_url, ledger):
    with pytest.raises(ValueError, match="protects nobody"):
        opened(sqlite_url, **MADE, noise=sv.SimulatedNoise(1), ledger=ledger)
    assert ledger.spent == 0.0


def killed_while_opening(url, path, moment):
    """Open the study in a process that is killed before, or after, the ledger has taken its token."""
    carry_on = sv.Ledger.carry_on

    def killed(*arguments, **options):
        if moment == "after":
            carry_on(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    def work(report):
        sv.Ledger.carry_on = killed
        sv.Study.open(url, name="study", ledger=sv.Ledger(sv.PureDP(10.0), path))

    return Child(work).finish()[1]


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_between_the_ledger_and_the_storage_costs_nothing(opened, url, tmp_path, ledger, moment):
    """The successor was written down first: what comes next finds that the ledger knows it already."""
    opened(url, **MADE, ledger=ledger).close()
    for _ in range(3):
        assert killed_while_opening(url, tmp_path / "ledger", moment)
        assert stored_right(url).successor is not None
    opened(url, ledger=ledger)
    assert stored_right(url).successor is None
    assert ledger.spent == 1.0


def test_what_is_copied_half_way_goes_on_once(opened, sqlite_url, tmp_path, ledger, monkeypatch):
    opened(sqlite_url, **MADE, ledger=ledger).close()
    carry_on = sv.Ledger.carry_on

    def interrupted(*arguments, **options):
        carry_on(*arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(sv.Ledger, "carry_on", interrupted)
    with pytest.raises(KeyboardInterrupt):
        opened(sqlite_url, ledger=ledger)
    monkeypatch.undo()
    copy = copied(sqlite_url, tmp_path, 0)
    opened(sqlite_url, ledger=ledger)
    assert ledger.spent == 1.0
    opened(copy, ledger=ledger)
    assert ledger.spent == 2.0
