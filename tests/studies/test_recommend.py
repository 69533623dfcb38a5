"""The decision to take home, and what is believed, from a study: by any process, at the end, after a restart."""

import numpy as np
import pytest

import sottovoce as sv

COSTS = np.array([0.9, 0.1, 0.8, 0.9, 0.2, 0.7]) / 2
BEST = np.array([0.0, 1.0, 0.0, 0.0, 1.0, 0.0])


def options(**changes):
    return {
        "domain": sv.domains.Hypersimplex(6, 2),
        "horizon": 600,
        "loss_range": (0.0, 1.0),
        "privacy": sv.NoPrivacy(),
        "losses": "linear",
        "exploration": "posterior",
        "seed": 2,
    } | changes


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'study.db'}"


def play(study, size):
    actions = study.ask(size)
    study.tell(actions.ids, actions.x @ COSTS)


def test_any_process_is_told_the_same_when_all_is_over(url):
    with sv.Study.open(url, name="spring", **options()) as study, sv.Study.open(url, name="spring") as other:
        assert other.recommend().rounds == 0
        play(study, 600)
        found = study.recommend()
        assert np.array_equal(found.x, BEST)
        assert other.recommend().to_dict() == found.to_dict()
    with sv.Study.open(url, name="spring") as again:
        assert again.remaining == 0
        assert again.recommend().to_dict() == found.to_dict()


@pytest.mark.parametrize("exploration", ["posterior", "designs"])
def test_what_an_epoch_that_is_closed_has_learned_is_not_lost(url, exploration):
    """All of three epochs is asked, and the losses of the first come: by another process nothing else is at hand."""
    with sv.Study.open(url, name="spring", **options(horizon=None, exploration=exploration)) as study:
        actions = study.ask(256 + 512 + 100)
        study.tell(actions.ids[:256], actions.x[:256] @ COSTS)
        found = study.recommend()
        assert found.rounds > 0
    with sv.Study.open(url, name="spring") as again:
        assert again.recommend().to_dict() == found.to_dict()


def test_losses_of_open_rounds_do_not_change_it(url):
    answers = []
    for name, loss in (("one", 0.0), ("other", 1.0)):
        with sv.Study.open(url, name=name, **options()) as study:
            play(study, 300)
            actions = study.ask_round()
            study.tell(actions.ids[:-1], np.full(len(actions) - 1, loss))
            answers.append(study.recommend().to_dict())
    assert answers[0]["rounds"] > 0
    assert answers[0] == answers[1]


def test_plans_without_a_model_have_no_posterior_and_say_so(url):
    with sv.Study.open(url, name="spring", **options(exploration="designs")) as study:
        for _ in range(2):
            with pytest.raises(ValueError, match=r"explores by 'designs'.*exploration='posterior' has one"):
                study.posterior()
            play(study, 100)


def test_the_status_says_whether_the_model_fits(url):
    with sv.Study.open(url, name="spring", **options(horizon=20_000)) as study:
        assert study.status().fit_check is None
        actions = study.ask(16_000)
        pairs = np.abs(actions.x[:, 0::2].sum(axis=1) - 1.0)  # both of one kind, or one of each
        coins = np.random.default_rng(0).random(len(pairs))
        study.tell(actions.ids, (coins < 0.2 + 0.5 * pairs).astype(float))
        status = study.status()
    assert status.fit_check.serious
    assert "losses do not look linear in the action" in str(status)
    assert status.to_dict()["fit_check"]["probability"] < 1e-4
