"""The executable proof: whatever one person does, one released number moves, by the range of a loss at most."""

import itertools

import numpy as np
import optuna

import sottovoce as sv
from sottovoce.integrations.optuna import private_optimize
from sottovoce.privacy import LossGrid

optuna.logging.set_verbosity(optuna.logging.WARNING)
STEPS = LossGrid(0.0, 1.0).steps
RAISES = object()
DEEDS = [0.0, 1.0, -5.0, 1e9, 0.3, None, RAISES]  # what a person may do: lose something, say nothing, break something


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
        deed = next(arriving)
        if deed is RAISES:
            raise TimeoutError
        return deed

    def suggest(trial):
        return trial.suggest_float("x", 0.0, 1.0)

    private_optimize(study, serve, evaluations, suggest=suggest, catch=TimeoutError, seed=5, **options)
    seen = [(trial.params, trial.state, trial.user_attrs["private_events"]) for trial in study.trials]
    return np.array([result.total for result in evaluations.results]), (seen, order)


def test_whatever_one_person_does_moves_one_number_by_one_loss_at_most():
    """Brute force over places and deeds; two trials at once, then one by itself."""
    others, worst = [0.1, 0.9, 0.4, 0.6, 0.2, 0.7], 0
    options = {"events_per_trial": 2, "trials": 3, "at_once": 2}
    for place in range(6):
        worlds = [world([*others[:place], deed, *others[place + 1 :]], **options) for deed in DEEDS]
        for (one, seen), (other, seen_too) in itertools.combinations(worlds, 2):
            assert seen == seen_too
            moved = np.abs(one - other)
            assert np.count_nonzero(moved) <= 1
            assert moved.max() <= STEPS
            worst = max(worst, moved.max())
    assert worst == STEPS  # reached, or the test would see nothing


def test_finalists_are_other_people():
    """No event is in two numbers: with finalists too, one person moves one."""
    people = [0.1, 0.9, 0.4, 0.6, 0.2, 0.2, 0.3, 0.3]
    options = {"events_per_trial": 2, "trials": 2, "finalists": 2, "events_per_finalist": 2}
    reference, _ = world(people, **options)
    for place in range(4, 8):  # earlier ones may change who the finalists are, by what was released
        moved, _ = world([1.0 if i == place else loss for i, loss in enumerate(people)], **options)
        assert np.count_nonzero(moved - reference) == 1
