"""The file of a ledger: whose it is, whether it is still the one that was opened, and forks."""

import os
import shutil
import stat
import threading

import pytest

from children import Child
from sottovoce.errors import LedgerConflict
from sottovoce.privacy import Ledger, PureDP
from sottovoce.privacy.ledger import new_token


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger"


@pytest.fixture
def everyone():
    """Files are readable by everyone, unless somebody sees to it that they are not."""
    before = os.umask(0)
    yield
    os.umask(before)


def put_back(path, copy):
    """Write an older copy over the file, as SQLite's own `.restore` does, or a backup that writes in place."""
    path.write_bytes(copy.read_bytes())


def replace_by(path, copy):
    shutil.copy(copy, path.with_name("new"))
    os.replace(path.with_name("new"), path)


@pytest.mark.parametrize("way", [put_back, replace_by])
@pytest.mark.parametrize("change", ["charge", "carry_on"])
def test_a_ledger_that_was_rolled_back_is_noticed(path, way, change):
    ledger, token = Ledger(PureDP(9.0), path), new_token()
    ledger.charge("run", PureDP(1.0), token=token)
    shutil.copy(path, path.with_name("backup"))
    {
        "charge": lambda: ledger.charge("more", PureDP(1.0)),
        "carry_on": lambda: ledger.carry_on("run", PureDP(1.0), token, new_token()),
    }[change]()
    newest = path.read_bytes()
    way(path, path.with_name("backup"))
    for seen in (ledger, Ledger(PureDP(9.0), path)):  # what this process has seen, not this object alone
        with pytest.raises(LedgerConflict, match="rolled back"):
            seen.charge("again", PureDP(1.0))
        with pytest.raises(LedgerConflict, match="rolled back"):
            print(seen.spent)
    path.write_bytes(newest)
    assert ledger.charge("again", PureDP(1.0))


def test_a_ledger_that_was_replaced_by_another_is_noticed(path, tmp_path):
    ledger = Ledger(PureDP(9.0), path)
    ledger.charge("run", PureDP(1.0))
    other = Ledger(PureDP(9.0), tmp_path / "other")
    for i in range(9):
        other.charge(str(i), PureDP(0.1))
    os.replace(tmp_path / "other", path)
    with pytest.raises(LedgerConflict, match="replaced"):
        ledger.charge("more", PureDP(1.0))


def test_a_ledger_that_is_gone_is_not_made_anew(path):
    ledger = Ledger(PureDP(9.0), path)
    path.unlink()
    with pytest.raises(LedgerConflict, match="gone"):
        ledger.charge("run", PureDP(1.0))
    assert not path.exists()
    path.write_bytes(b"")
    with pytest.raises(LedgerConflict, match="replaced"):
        ledger.charge("run", PureDP(1.0))


def test_reading_changes_nothing(path):
    ledger = Ledger(PureDP(9.0), path)
    ledger.charge("run", PureDP(1.0))
    before = path.read_bytes()
    assert ledger.spent == 1.0
    assert Ledger(PureDP(9.0), path).spent == 1.0
    assert path.read_bytes() == before


@pytest.mark.usefixtures("everyone")
def test_only_its_owner_can_read_it_wherever_a_link_leads(tmp_path, path):
    (tmp_path / "link").symlink_to("far")  # to nowhere, so far
    Ledger(PureDP(9.0), tmp_path / "link").charge("run", PureDP(1.0))
    assert mode(tmp_path / "far") == 0o600
    assert all(mode(one) == 0o600 for one in tmp_path.iterdir())
    assert Ledger(PureDP(9.0), tmp_path / "far").spent == 1.0
    path.touch(0o644)
    Ledger(PureDP(9.0), path)
    assert mode(path) == 0o600


@pytest.mark.usefixtures("everyone")
def test_another_file_is_not_touched_and_keeps_its_mode(path):
    letter = b"Dear reader, this is no database, and it is long enough to be sure of it.\n" * 20
    path.write_bytes(letter)
    path.chmod(0o644)
    with pytest.raises(ValueError, match="path must be a ledger"):
        Ledger(PureDP(9.0), path)
    assert (mode(path), path.read_bytes()) == (0o644, letter)


def test_a_change_of_directory_leads_to_no_other_ledger(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    ledger = Ledger(PureDP(9.0), "ledger")
    monkeypatch.chdir(tmp_path / "elsewhere")
    ledger.charge("run", PureDP(1.0))
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert ledger.spent == 1.0


def test_a_fork_finds_no_transaction_half_way(path, monkeypatch):
    """The child of a fork in the midst of another thread's transaction begins when that is over.

    One that inherits a lock half-way would believe that it holds it: it would wait for itself, or not at all.
    """
    ledger = Ledger(PureDP(9.0), path)
    inside, forked = threading.Event(), threading.Event()
    enter = Ledger._enter

    def slow(*arguments):
        inside.set()
        forked.wait(0.2)  # the fork cannot happen before this transaction ends, however long that takes
        enter(*arguments)

    monkeypatch.setattr(Ledger, "_enter", slow)
    worker = threading.Thread(target=ledger.charge, args=("run", PureDP(1.0)))
    worker.start()
    inside.wait()
    child = Child(lambda report: report(ledger.spent, ledger.charge("child", PureDP(1.0))))
    forked.set()
    assert child.finish() == ([[1.0, True]], False)
    worker.join()
    assert ledger.spent == 2.0
