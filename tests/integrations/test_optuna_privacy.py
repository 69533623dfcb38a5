"""The executable proof: whatever one person does, one released number moves, by the range of a loss at most."""

import itertools

import numpy as np
import optuna
import pytest

import sottovoce as sv
from sampling import every
from sottovoce.errors import RefusedCall
from sottovoce.integrations.optuna import private_optimize
from sottovoce.privacy import LossGrid

optuna.logging.set_verbosity(optuna.logging.WARNING)
STEPS = LossGrid(0.0, 1.0).steps
DEEDS = [0.0, 1.0, -5.0, 1e9, 0.3, None]  # what a person may do: lose something, or say nothing


class Counted:
    """Noise that is never the same twice, and the same in both worlds."""

    simulated = True

    def sampler(self, noise):
        self.drawn = 0
        return self

    def draw(self, size):
        self.drawn += size
        return np.arange(self.drawn - size, self.drawn, dtype=np.int64) * 10**9


def world(deeds, **options):
    """Everything that can be seen of a run: released totals, parameters, states, who was served when."""
    evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(1.0), noise=Counted())
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=3))  # heeds no value, so neither may change
    arriving, order = iter(deeds), []

    def serve(x):
        order.append(x)
        return next(arriving)

    def suggest(trial):
        return trial.suggest_float("x", 0.0, 1.0)

    private_optimize(study, serve, evaluations, suggest=suggest, **options)
    seen = [(trial.params, trial.state, trial.user_attrs["private_events"]) for trial in study.trials]
    return np.array([result.total for result in evaluations.results]), (seen, order)


def test_whatever_one_person_does_moves_one_number_by_one_loss_at_most():
    """Brute force over places and deeds."""
    others, worst = [0.1, 0.9, 0.4, 0.6, 0.2, 0.7], 0
    options = {"events_per_trial": 2, "trials": 3}
    for place in range(6):
        worlds = [world([*others[:place], deed, *others[place + 1 :]], **options) for deed in DEEDS]
        for (one, seen), (other, seen_too) in itertools.combinations(worlds, 2):
            assert seen == seen_too
            moved = np.abs(one - other)
            assert np.count_nonzero(moved) <= 1
            assert moved.max() <= STEPS
            worst = max(worst, moved.max())
    assert worst == STEPS  # reached, or the test would see nothing


# ---------------------------------------------------------------------- what is stored of a trial, whoever came first


def real(**options):
    return sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(1.0), **options)


def stored(study):
    """All that Optuna keeps of trials, but what was released and when."""
    names = ("state", "params", "distributions", "intermediate_values", "system_attrs")
    return [([getattr(one, name) for name in names], sorted(one.user_attrs), one.value is None) for one in study.trials]


MEDDLING = {
    "a name": lambda trial, loss: trial.suggest_float("low" if loss < 0.5 else "high", 0.0, 1.0),
    "a kind": lambda trial, loss: trial.suggest_categorical("kind", ["low", "high"][:: 1 if loss < 0.5 else -1]),
    "a whole number": lambda trial, loss: trial.suggest_int("whole", 0, 5 + int(10 * loss)),
    "an attribute": lambda trial, loss: trial.set_user_attr("loss", loss),
    "a value": lambda trial, loss: trial.report(loss, 0),
    "pruning": lambda trial, loss: trial.should_prune(),
    "a constraint": lambda trial, loss: trial.set_constraint("loss", loss),
}


def meddled(meddle, loss):
    """Return what is stored of a study whose first person lost something, and `serve` wanted it kept."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=3))

    def suggest(trial):
        trial.suggest_float("x", 0.0, 1.0)
        trial.set_user_attr("note", "before anybody came")
        return {"trials": [trial]}

    def serve(shown):
        (trial,) = shown["trials"]
        assert trial.suggest_float("x", 0.0, 1.0) == trial.params["x"]  # what is there can be asked for again
        meddle(trial, loss)
        return loss

    with pytest.raises(RefusedCall) as caught:
        private_optimize(study, serve, real(), suggest=suggest, events_per_trial=3, trials=2)
    assert str(loss) not in str(caught.value)
    assert str(loss) not in repr(study.trials)
    return stored(study)


@every("meddle", MEDDLING)
def test_a_trial_takes_nothing_once_people_are_served(meddle):
    """However it came to `serve`: what is stored is the same, whatever the first person lost."""
    assert meddled(MEDDLING[meddle], 0.123) == meddled(MEDDLING[meddle], 0.987)


# ---------------------------------------------------------------------- trials of others


def x(trial):
    return trial.suggest_float("x", 0.0, 1.0)


OTHERS = {
    "no privacy": lambda: sv.PrivateEvaluations((0.0, 1.0), sv.NoPrivacy()),
    "simulated": lambda: sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(0.1), noise=sv.SimulatedNoise(1)),
    "unlabelled": None,
    "pruned, with values on the way": None,
}


@every("kind", OTHERS)
def test_trials_that_protect_nobody_do_not_pass_for_private_ones(kind):
    """Samplers choose by them, and what is expected of the best rests on them."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    if OTHERS[kind] is not None:
        private_optimize(study, lambda x: x, OTHERS[kind](), suggest=x, events_per_trial=5, trials=2)
    elif kind == "unlabelled":
        study.optimize(x, n_trials=2)
    else:
        trial = study.ask()
        trial.report(0.3, 0)
        study.tell(trial, state=optuna.trial.TrialState.PRUNED)
    count = len(study.trials)
    given = {"suggest": x, "events_per_trial": 5, "trials": 2}
    with pytest.raises(ValueError, match="accept_prior='not private'"):
        private_optimize(study, lambda x: x, real(), **given)
    assert len(study.trials) == count
    with pytest.raises(ValueError, match="accept_prior must be"):
        private_optimize(study, lambda x: x, real(), **given, accept_prior="yes")
    outcome = private_optimize(study, lambda x: x, real(), **given, accept_prior="not private")
    assert "NOT PRIVATE" in str(outcome)
    again = private_optimize(study, lambda x: x, real(), **given, accept_prior="not private")
    assert "2 under epsilon = 1, pure differential privacy" in str(again)
    assert "NOT PRIVATE" in str(again)


def test_trials_of_other_promises_are_said_beside_ones_own():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    given = {"suggest": x, "events_per_trial": 5, "trials": 2}
    weak = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(10.0))
    assert private_optimize(study, lambda x: x, weak, **given).earlier == ()
    outcome = private_optimize(study, lambda x: x, real(), **given)
    assert outcome.earlier == (("epsilon = 10, pure differential privacy", 2),)
    assert "Earlier trials: 2 under epsilon = 10, pure differential privacy" in str(outcome)
