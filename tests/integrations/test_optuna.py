"""Optuna with private values: every sampler, any direction, budgets, callbacks, errors, Ctrl-C."""

import functools
import logging
import traceback

import numpy as np
import optuna
import pytest

import sottovoce as sv
from sampling import every
from sottovoce.errors import InvalidLoss, RefusedCall
from sottovoce.integrations import optuna as integration
from sottovoce.integrations.optuna import estimates, tell

optuna.logging.set_verbosity(optuna.logging.WARNING)
SECRET = 0.7362514


def plain(**options):
    """Evaluations without noise, so that what is released can be counted."""
    return sv.PrivateEvaluations((0.0, 1.0), sv.NoPrivacy(), **options)


def simulated(epsilon=1.0, **options):
    return sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(epsilon), noise=sv.SimulatedNoise(2), **options)


def study_of(sampler=None, **options):
    return optuna.create_study(sampler=sampler or optuna.samplers.RandomSampler(seed=0), **options)


def bowl(trial):
    return (trial.suggest_float("x", 0.0, 1.0, step=0.25) - 0.3) ** 2


def same(trial):
    """Chooses what `bowl` asks for, before anybody is served."""
    bowl(trial)
    return trial


private_optimize = functools.partial(integration.private_optimize, suggest=same)


def states(study):
    return [trial.state.name for trial in study.trials]


SAMPLERS = {
    "random": lambda: optuna.samplers.RandomSampler(seed=0),
    "tpe": lambda: optuna.samplers.TPESampler(seed=0, n_startup_trials=3),
    "cma-es": lambda: optuna.samplers.CmaEsSampler(seed=0, n_startup_trials=2),
    "nsga-ii": lambda: optuna.samplers.NSGAIISampler(seed=0, population_size=4),
    "grid": lambda: optuna.samplers.GridSampler({"x": [0.0, 0.25, 0.5, 0.75, 1.0]}, seed=0),
    "partly fixed": lambda: optuna.samplers.PartialFixedSampler({"y": 1}, optuna.samplers.RandomSampler(seed=0)),
}


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
@every("name", SAMPLERS)
def test_every_sampler_is_told_the_mean_of_its_trials_people(name):
    """Against a recount; grids end by themselves when they are done."""
    study, met = study_of(SAMPLERS[name]()), {}

    def serve(trial):
        loss = bowl(trial) + 0.01 * trial.number
        met.setdefault(trial.number, []).append(loss)
        return loss

    outcome = private_optimize(study, serve, plain(), events_per_trial=7, trials=8)
    assert set(states(study)) == {"COMPLETE"}
    assert len(study.trials) == (5 if name == "grid" else 8)
    assert outcome.trials == len(study.trials)
    assert outcome.events == 7 * len(study.trials) == sum(map(len, met.values()))
    for trial in study.trials:
        assert trial.value == pytest.approx(np.mean(met[trial.number]), abs=1e-5)
        assert len(met[trial.number]) == 7


def test_values_carry_their_noise_and_the_promise():
    study, evaluations = study_of(), simulated()
    private_optimize(study, bowl, evaluations, events_per_trial=50, trials=2)
    for trial, result in zip(study.trials, evaluations.results, strict=True):
        assert trial.value == result.mean
        assert trial.user_attrs == {
            "private_events": 50,
            "private_standard_error": result.standard_error,
            "private_noise": result.noise_error,
            "private_interval": [*result.interval(0.95)],
            "private_guarantee": "epsilon = 1, pure differential privacy (SIMULATED NOISE: NOT PRIVATE)",
        }


def test_a_loop_of_ones_own_tells_what_was_released_and_nothing_before():
    study, evaluations = study_of(), simulated()
    trial, evaluation = study.ask(), evaluations.open(events=3)
    with pytest.raises(sv.errors.NotReleased):
        tell(study, trial, evaluation, evaluations)
    assert study.trials[0].user_attrs == {}
    evaluation.tell([0.1, 0.2, 0.3])
    told = tell(study, trial, evaluation, evaluations)
    assert (told.state.name, told.value) == ("COMPLETE", evaluation.mean)
    assert len(estimates(study)) == 1


def test_a_study_that_maximises_is_told_gains():
    study = study_of(direction="maximize")
    outcome = private_optimize(study, lambda trial: 1 - bowl(trial), plain(), events_per_trial=5, trials=8)
    assert outcome.best.number == study.best_trial.number
    assert outcome.best_params == study.best_params


def test_what_cannot_be_is_refused_before_anything_is_asked():
    study, two = study_of(), optuna.create_study(directions=["minimize"] * 2)
    for one, numbers, words in [
        (study, {"events_per_trial": 0, "trials": 5}, "events_per_trial must be at least 1"),
        (study, {"events_per_trial": 5, "trials": 0}, "trials must be at least 1"),
        (two, {"events_per_trial": 5, "trials": 1}, "2 objectives"),
    ]:
        with pytest.raises(ValueError, match=words):
            private_optimize(one, bowl, plain(), **numbers)
        assert one.trials == []


def test_parameters_chosen_beforehand_reach_serve_in_place_of_the_trial():
    def suggest(trial):
        if trial.suggest_categorical("kind", ["a", "b"]) == "b":
            raise optuna.TrialPruned  # makes no sense: nobody is served
        return {"kind": "a", "x": trial.suggest_float("x", 0, 1)}

    study, met = study_of(), []

    def serve(shown):
        met.append(shown["kind"])
        return shown["x"]

    outcome = private_optimize(study, serve, plain(), suggest=suggest, events_per_trial=3, trials=8)
    assert set(states(study)) == {"COMPLETE", "PRUNED"}
    assert outcome.trials == states(study).count("COMPLETE")
    assert outcome.events == 3 * outcome.trials == met.count("a") == len(met)


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit, InvalidLoss, optuna.TrialPruned])
def test_an_error_fails_the_trial_releases_nothing_of_it_and_is_the_callers_again(error, caplog):
    """Nothing that Optuna stores or logs holds what the error says; the study and the evaluations can go on.

    Pruning by a loss is refused, and its words are dropped.
    """
    study, evaluations, people = study_of(), simulated(), []

    def serve(trial):
        people.append(trial.params["x"])
        if len(people) == 8:
            if error is InvalidLoss:
                return float("nan")
            raise error(f"loss was {SECRET}")
        return SECRET

    refused = RefusedCall if error is optuna.TrialPruned else error
    with caplog.at_level(logging.DEBUG), pytest.raises(refused) as caught:
        private_optimize(study, serve, evaluations, events_per_trial=5, trials=6)
    if refused is RefusedCall:
        assert str(SECRET) not in "".join(traceback.format_exception(caught.value))
        assert caught.value.__context__ is None
    assert states(study) == ["COMPLETE", "FAIL"]
    assert len(evaluations.results) == 1
    assert evaluations.open_evaluations == ()
    stored = repr([(one.user_attrs, one.system_attrs, one.values, one.intermediate_values) for one in study.trials])
    assert "0.7362" not in stored + caplog.text
    assert "erased" in caplog.text
    outcome = private_optimize(study, bowl, evaluations, events_per_trial=5, trials=1)
    assert (outcome.trials, outcome.events) == (1, 5)


def test_one_person_has_one_loss():
    """Or somebody would count several times, for one guarantee."""
    study = study_of()
    for several in ([SECRET, SECRET], np.array([SECRET]), (SECRET, SECRET)):
        with pytest.raises(InvalidLoss, match="several numbers for one person") as caught:
            private_optimize(study, lambda trial: several, plain(), events_per_trial=4, trials=1)  # noqa: B023
        assert str(SECRET) not in str(caught.value)
    assert states(study) == ["FAIL"] * 3


def test_callbacks_see_what_was_released_and_may_stop():
    seen = []

    def callback(study, trial):
        seen.append((trial.number, trial.value))
        if trial.number == 2:
            study.stop()

    study, evaluations = study_of(), simulated()
    outcome = private_optimize(study, bowl, evaluations, events_per_trial=5, trials=9, callbacks=[callback])
    assert seen == [(number, result.mean) for number, result in enumerate(evaluations.results)]
    assert len(seen) == outcome.trials == 3


def test_owners_may_privatise():
    evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.LocalDP(2.0))

    def serve(trial):
        return sv.local.privatise(bowl(trial), evaluations.channel)

    study = study_of()
    private_optimize(study, serve, evaluations, events_per_trial=10, trials=2)
    assert states(study) == ["COMPLETE"] * 2
    with pytest.raises(InvalidLoss, match="raw loss"):
        private_optimize(study, bowl, evaluations, events_per_trial=10, trials=1)


def test_workers_may_share_evaluations_in_a_storage(tmp_path):
    """One promise for all of them: every person is in one trial, and what breaks off is abandoned for everybody."""
    url, study, met = f"sqlite:///{tmp_path}/people.db", study_of(), {}
    facts = {"name": "a", "loss_range": (0.0, 1.0), "privacy": sv.NoPrivacy()}

    def serve(trial):
        heard = met.setdefault(trial.number, [])
        heard.append(bowl(trial) if len(heard) else None)
        return heard[-1]

    with sv.PrivateEvaluations(storage=url, **facts) as here, sv.PrivateEvaluations(storage=url, **facts) as there:
        for evaluations in (here, there, here):
            private_optimize(study, serve, evaluations, events_per_trial=4, trials=2)
        with pytest.raises(ZeroDivisionError):
            private_optimize(study, lambda trial: bowl(trial) / 0, there, events_per_trial=8, trials=2)
        assert here.open_evaluations == ()
        assert len(here.results) == 6
    assert states(study) == ["COMPLETE"] * 6 + ["FAIL"]
    for trial in study.trials[:6]:
        assert trial.value == pytest.approx(0.75 * met[trial.number][-1] + 0.25 * 0.5, abs=1e-4)
