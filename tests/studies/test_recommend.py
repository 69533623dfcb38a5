"""The decision to take home, and what is believed, from a study: by any process, at the end, after a restart."""

import numpy as np
import pytest
from study_tools import believing

import sottovoce as sv

COSTS = np.array([0.9, 0.1, 0.8, 0.9, 0.2, 0.7]) / 2
BEST = np.array([0.0, 1.0, 0.0, 0.0, 1.0, 0.0])


def made(**changes):
    return believing(domain=sv.domains.Hypersimplex(6, 2), horizon=600, integral=False, seed=2) | changes


def play(study, size):
    actions = study.ask(size)
    study.tell(actions.ids, actions.x @ COSTS)


def test_any_process_is_told_the_same_when_all_is_over(opened, sqlite_url):
    study = opened(sqlite_url, **made())
    other = opened(sqlite_url)
    assert other.recommend().rounds == 0
    play(study, 600)
    found = study.recommend()
    assert np.array_equal(found.x, BEST)
    again = opened(sqlite_url)
    assert again.remaining == 0
    assert found.to_dict() == other.recommend().to_dict() == again.recommend().to_dict()


@pytest.mark.parametrize("exploration", [{}, {"exploration": "designs", "probes": None, "least_events": None}])
def test_what_an_epoch_that_is_closed_has_learned_is_not_lost(opened, sqlite_url, exploration):
    """All of three epochs is asked, and the losses of the first come: by another process nothing else is at hand."""
    given = {
        name: one for name, one in made(horizon=None, **exploration).items() if one is not None or name == "horizon"
    }
    study = opened(sqlite_url, **given)
    actions = study.ask(256 + 512 + 100)
    study.tell(actions.ids[:256], actions.x[:256] @ COSTS)
    found = study.recommend()
    assert found.rounds > 0
    study.close()
    assert opened(sqlite_url).recommend().to_dict() == found.to_dict()


def test_the_status_says_whether_the_model_fits(opened, sqlite_url):
    study = opened(sqlite_url, **made(horizon=20_000))
    assert study.status().fit_check is None
    actions = study.ask(16_000)
    pairs = np.abs(actions.x[:, 0::2].sum(axis=1) - 1.0)  # both of one kind, or one of each
    coins = np.random.default_rng(0).random(len(pairs))
    study.tell(actions.ids, (coins < 0.2 + 0.5 * pairs).astype(float))
    status = study.status()
    assert status.fit_check.serious
    assert "losses do not look linear in the action" in str(status)
    assert status.to_dict()["fit_check"]["probability"] < 1e-4
