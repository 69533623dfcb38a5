"""A run, cut short at every line of the integration: no trial hangs, nothing is open, what was released is told."""

import sys
import threading
from pathlib import Path

import optuna
import pytest

import sottovoce as sv
from sottovoce.integrations.optuna import private_optimize

optuna.logging.set_verbosity(optuna.logging.ERROR)
FILES = {
    str(path)
    for path in Path(sv.integrations.__file__).parent.rglob("*.py")
    if path.name not in ("outcome.py",)  # which change nothing
}


class Cut(BaseException):
    """What Ctrl-C raises, anywhere."""


def cut_at(stop, call):
    """Run a call, and raise before its line number `stop` inside the integration; say whether it came so far.

    In a thread of its own: what is raised between an `except` and its first line leaves the exception that was caught
    with the thread, for whatever comes next.
    """
    count, cut = 0, []

    def line(frame, event, argument):
        nonlocal count
        if event == "line":
            count += 1
            if count == stop:
                sys.settrace(None)
                raise Cut
        return line

    def run():
        sys.settrace(lambda frame, event, argument: line if frame.f_code.co_filename in FILES else None)
        try:
            call()
            cut.append(False)
        except Cut:
            cut.append(True)
        finally:
            sys.settrace(None)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    (came_so_far,) = cut
    return came_so_far


def suggest(trial):
    if trial.number == 1:
        raise optuna.TrialPruned
    return trial.suggest_float("x", 0, 1)


def test_every_line_may_be_the_last():
    """Two trials at once and one by itself, one of them pruned, and a finalist."""
    stop, came_so_far = 0, True
    while came_so_far:
        stop += 1
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
        evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.NoPrivacy())

        def call(study=study, evaluations=evaluations):
            settings = {
                "events_per_trial": 2,
                "trials": 3,
                "at_once": 2,
                "finalists": 1,
                "events_per_finalist": 1,
            }
            private_optimize(study, lambda x: x, evaluations, suggest=suggest, seed=1, **settings)

        came_so_far = cut_at(stop, call)
        states = [trial.state.name for trial in study.trials]
        assert "RUNNING" not in states, stop
        assert evaluations.open_evaluations == (), stop
        told = [trial.value for trial in study.trials if trial.state.name == "COMPLETE"]
        released = [result.mean for result in evaluations.results]
        assert sorted(told[:2]) == sorted(released[:2]), stop  # a finalist's may be lost: it is not a trial yet
        with pytest.raises(RuntimeError, match="inside an objective"):
            study.stop()  # is Optuna's own again
    assert stop > 100
    assert states == ["COMPLETE", "PRUNED", "COMPLETE", "COMPLETE"]
