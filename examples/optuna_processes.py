"""Optuna on a live system: study and evaluations live in a database, and any process does any part."""

import tempfile
from pathlib import Path

import optuna
from optuna.trial import TrialState

import sottovoce as sv

optuna.logging.set_verbosity(optuna.logging.WARNING)
folder = Path(tempfile.mkdtemp())


def processes():
    """What each process opens when it starts."""
    study = optuna.create_study(storage=f"sqlite:///{folder}/optuna.db", study_name="price", load_if_exists=True)
    url = f"sqlite:///{folder}/people.db"
    return study, sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(epsilon=1.0), storage=url, name="price")


def arrives(study, evaluations):
    """A person arrives: what to show them, and the id to answer with."""
    if not any(evaluation.remaining for evaluation in evaluations.open_evaluations):
        trial = study.ask()
        trial.suggest_float("price", 1.0, 9.0)
        trial.set_user_attr("evaluation", evaluations.open(events=20).number)
    evaluation, person = evaluations.assign()
    for one in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        if one.user_attrs.get("evaluation") == evaluation.number:
            return one.params, person
    evaluations.forget(person)  # another process is just opening it, or died when it was: not this person, then
    return {"price": 5.0}, None


def answers(study, evaluations, person, loss):
    """Their answer, later, to whichever process."""
    evaluations.tell(person, loss, late="drop")
    for one in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        number = one.user_attrs.get("evaluation")
        if number is not None and evaluations.evaluation(number).closed:  # whoever sees it first tells it
            study.tell(one.number, evaluations.evaluation(number).mean, skip_if_finished=True)


here, there = processes(), processes()
for _ in range(20):
    shown, person = arrives(*here)
    answers(*there, person, abs(shown["price"] - 4.0) / 10)
print(len(here[0].get_trials(states=(TrialState.COMPLETE,))), here[1].results)
