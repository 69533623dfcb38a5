"""A run, cut short at every line of the integration: no trial hangs, nothing is open, what is told was released."""

from pathlib import Path

import optuna

import sottovoce as sv
from children import at_once
from sottovoce.integrations.optuna import private_optimize
from tracing import cut_short

optuna.logging.set_verbosity(optuna.logging.ERROR)
FILES = tuple(
    str(path)
    for path in Path(sv.integrations.__file__).parent.rglob("*.py")
    if path.name not in ("outcome.py",)  # which change nothing
)


class Cut(KeyboardInterrupt):
    """What Ctrl-C raises, anywhere."""


def cut_at(stop, call):
    """Run a call, and raise before its line number `stop` inside the integration; say whether it came so far.

    In a thread of its own: what is raised between an `except` and its first line leaves the exception that was caught
    with the thread, for whatever comes next.
    """
    return isinstance(at_once(lambda _: cut_short(call, stop, error=Cut, where=FILES), 1)[0], Cut)


def suggest(trial):
    if trial.number == 1:
        raise optuna.TrialPruned
    return trial.suggest_float("x", 0, 1)


def test_every_line_may_be_the_last():
    """Three trials, one of them pruned."""
    stop, came_so_far = 0, True
    while came_so_far:
        stop += 1
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
        evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.NoPrivacy())

        def call(study=study, evaluations=evaluations):
            settings = {"events_per_trial": 2, "trials": 3}
            private_optimize(study, lambda x: x, evaluations, suggest=suggest, **settings)

        came_so_far = cut_at(stop, call)
        states = [trial.state.name for trial in study.trials]
        assert "RUNNING" not in states, stop
        assert evaluations.open_evaluations == (), stop
        told = [trial.value for trial in study.trials if trial.state.name == "COMPLETE"]
        released = [result.mean for result in evaluations.results]
        assert told in (released, released[:-1]), stop  # the last may be lost on its way
    assert stop > 100
    assert states == ["COMPLETE", "PRUNED", "COMPLETE"]
