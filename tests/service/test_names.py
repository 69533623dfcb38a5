"""A name is that of one study at a time: after it was renamed or deleted, another one may have it."""

import pytest

import sottovoce as sv
from sottovoce.service.study_workers import open_books
from sottovoce.studies import delete_study, rename_study

OTHER = ["w", "x", "y", "z"]


@pytest.mark.parametrize("gone", ["renamed", "deleted"])
def test_a_name_leads_to_the_study_that_has_it_now(served, sqlite_url, gone, monkeypatch):
    """Not to the one that is still open, and had it before: a key for a name would be one for somebody else's study."""
    monkeypatch.setattr(open_books, "_FRESH", -1.0)
    served.create(labels=["a", "b", "c", "d"], domain="hypersimplex:4,2")
    action = served.ask(headers={"Idempotency-Key": "one"})
    if gone == "renamed":
        rename_study(sqlite_url, "spring", "autumn")
    else:
        delete_study(sqlite_url, "spring")
    assert served.client.post("/studies/spring/ask", json={}).status_code == 404
    served.create(labels=OTHER, domain="hypersimplex:4,2")
    assert set(served.ask()["chosen"]) <= set(OTHER)
    assert set(served.ask(headers={"Idempotency-Key": "one"})["chosen"]) <= set(OTHER)
    assert served.client.post("/studies/spring/tell", json={"id": action["id"], "loss": 0.5}).status_code == 404
    if gone == "renamed":
        told = served.client.post("/studies/autumn/tell", json={"id": action["id"], "loss": 0.5})
        assert told.json()["recorded"] == 1


def test_the_words_that_clients_show_say_what_is_wrong(served):
    """Clients show the detail of a problem and nothing else."""
    remote = sv.connect(served.url, study="nothing", raw_losses=True)
    with remote, pytest.raises(sv.errors.StudyNotFound, match="There is no such study"):
        remote.ask()
