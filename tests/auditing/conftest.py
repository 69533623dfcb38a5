"""Audits look at what is recommended after every event: there a few samples of what is believed say as much as many."""

import pytest

from sottovoce.learning import recommendation


@pytest.fixture(autouse=True)
def few_samples(monkeypatch):
    monkeypatch.setattr(recommendation, "_DRAWS", 10)
    monkeypatch.setattr(recommendation, "_CURVED_DRAWS", 10)
