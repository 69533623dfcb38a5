"""What a person clicked is in no error, no row's length, and no answer: names are as private as numbers."""

import itertools
import logging
import sqlite3

import numpy as np
import pytest

import sottovoce as sv
from item_reports import PRIVATE, wrong_reports
from shown import shows
from sottovoce.studies import TellCall

DRINKS = ["mint-tea-777", "latte-778", "mocha-779", "water-780", "juice-781"]


def settings(most):
    domain = sv.domains.Hypersimplex(DRINKS, k=4)
    return {"horizon": 1000, "privacy": sv.PureDP(1.0), "feedback": "items", "integral": True, "most": most} | {
        "domain": domain,
        "loss_range": (-1.0, 0.0),
        "seed": 1,
    }


@pytest.mark.parametrize("most", [1.0, None])
@pytest.mark.parametrize("stored", [False, True])
def test_no_error_shows_a_name_or_a_number_that_was_told(tmp_path, caplog, capsys, most, stored):
    caplog.set_level(logging.DEBUG)
    if stored:
        made = sv.Study.open(f"sqlite:///{tmp_path}/s.db", name="s", **settings(most))
    else:
        made = sv.PrivateBandit(**settings(most))
    action = made.ask()
    errors = []
    for report in wrong_reports(action.chosen):
        for ids, told in ((action.id, report), ([action.id], [report]), ([action.id], report)):
            with pytest.raises((sv.errors.InvalidLoss, TypeError, ValueError)) as caught:
                made.tell(ids, told)
            errors.append(caught.value)
        if stored:
            (outcome,) = made.tell_each([TellCall(action.id, report)])
            assert isinstance(outcome, sv.errors.InvalidLoss)
            errors.append(outcome)
    for error in errors:
        assert isinstance(error, sv.errors.InvalidLoss)
        assert not shows(error, *PRIVATE)
    made.tell(action.id, dict.fromkeys(action.chosen, -0.31415))  # nothing of it was recorded
    with pytest.raises(sv.errors.AlreadyTold) as caught:
        made.tell(action.id, dict.fromkeys(action.chosen, -0.31415))
    assert not shows(caught.value, *PRIVATE[2:])
    said = caplog.text + "".join(capsys.readouterr()) + repr(TellCall(action.id, {"latte": -0.31415}))
    assert not [one for one in PRIVATE[2:] if one in said]


REPORTS = [0, 1, 2, 4]  # how many are clicked


def rows_of(file):
    """What is stored, as lengths: of every value of every row of every table."""
    base = sqlite3.connect(file)
    names = [name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    rows = {name: base.execute(f"SELECT * FROM {name}").fetchall() for name in names}
    base.close()
    return {
        name: [[len(one) if isinstance(one, bytes | str) else type(one).__name__ for one in row] for row in found]
        for name, found in rows.items()
    }


@pytest.mark.parametrize("how", ["dict", "array", "block"])
@pytest.mark.parametrize("most", [1.0, None])
def test_what_is_stored_and_answered_is_as_long_whatever_was_clicked(tmp_path, most, how):
    found = []
    for clicks in REPORTS:
        file = tmp_path / f"{clicks}.db"
        with sv.Study.open(f"sqlite:///{file}", name="s", **settings(most)) as study:
            actions = study.ask(3)
            rows = np.zeros((3, 4))
            rows[:, :clicks] = -1.0
            answers = []
            if how == "block":
                answers.append(study.tell(actions.ids, rows))
            for one, row, x in zip(actions.ids, rows, np.asarray(actions.x), strict=True) if how != "block" else ():
                names = study.domain.chosen(x)
                named = {name: loss for name, loss in zip(names, row, strict=True) if loss or most is None}
                answers += study.tell_each([TellCall(one, named if how == "dict" else row.tolist())])
            with pytest.raises(sv.errors.AlreadyTold) as again:
                study.tell(actions.ids[:1], rows[:1])
            text = str(again.value).replace(str(actions.ids[0]), "<id>")
            status = [study.outstanding().ids.shape, len(repr(study.status())), text]
            found.append((answers, status, rows_of(file), file.stat().st_size))
    for one, other in itertools.pairwise(found):
        assert one == other
