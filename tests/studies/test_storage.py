"""What a killed process cannot show: the settings that make commits durable and deletions final."""

import os
import stat

from study_tools import path_of, sums


def test_the_files_are_their_owners_alone(opened, sqlite_url):
    before = os.umask(0)
    try:
        study = opened(sqlite_url, **sums())
        study.ask()
        for end in ("", "-wal", "-shm"):
            assert stat.S_IMODE(os.stat(path_of(sqlite_url) + end).st_mode) == 0o600
    finally:
        os.umask(before)


def test_what_is_committed_is_on_the_disk_and_what_is_deleted_is_gone(opened, sqlite_url):
    """A killed process cannot show this: the settings are asserted on the live connection."""
    study = opened(sqlite_url, **sums())
    expected = {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1, "foreign_keys": 1, "temp_store": 2}
    assert {name: study._base.run(f"PRAGMA {name}")[0][0] for name in expected} == expected


def test_postgresql_commits_durably(opened, postgres_url):
    study = opened(postgres_url, **sums())
    for name in ("fsync", "synchronous_commit", "full_page_writes"):
        assert study._base.run(f"SHOW {name}") == [("on",)]
