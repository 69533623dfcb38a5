"""What a killed process cannot show: the settings that make commits durable and deletions final."""

from study_tools import sums


def test_what_is_committed_is_on_the_disk_and_what_is_deleted_is_gone(opened, sqlite_url):
    """A killed process cannot show this: the settings are asserted on the live connection."""
    study = opened(sqlite_url, **sums())
    expected = {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1, "foreign_keys": 1, "temp_store": 2}
    assert {name: study._base.run(f"PRAGMA {name}")[0][0] for name in expected} == expected


def test_postgresql_commits_durably(opened, postgres_url):
    study = opened(postgres_url, **sums())
    for name in ("fsync", "synchronous_commit", "full_page_writes"):
        assert study._base.run(f"SHOW {name}") == [("on",)]
