"""What is printed is what a notebook shows; what is known comes as tables."""

import sys

import numpy as np
import pandas
import pytest

import sottovoce as sv
from sottovoce._printed import Printed
from sottovoce.errors import MissingExtra


class Spelled(Printed):
    def _parts(self):
        return [("heading", [("name", "text"), ("", "no name")])]


def test_notebooks_show_what_is_printed():
    class Printer(list):
        text = list.append

    printer = Printer()
    Spelled()._repr_pretty_(printer, cycle=False)
    assert printer == [str(Spelled())] == ["heading\n  name     text\n  no name"]


@pytest.fixture
def study(tmp_path):
    options = {"horizon": 900, "loss_range": (0.0, 1.0), "losses": "linear", "integral": True, "seed": 1}
    drinks = sv.domains.Simplex(["tea", "coffee", "milk"])
    with sv.Study.open(
        f"sqlite:///{tmp_path / 'a.db'}", name="a", domain=drinks, privacy=sv.PureDP(1.0), **options
    ) as made:
        for _ in range(2):
            actions = made.ask_round()
            made.tell(actions.ids, actions.x[:, 0])
        yield made


def test_tables_for_pandas_or_what_to_install(study, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    for one in (study.posterior(), study.history()):
        with pytest.raises(MissingExtra, match="pip install pandas"):
            one.to_frame()
    monkeypatch.delitem(sys.modules, "pandas")
    known = study.posterior().to_frame()
    assert isinstance(known, pandas.DataFrame)
    assert list(known["name"]) == ["tea", "coffee", "milk"]
    assert np.shape(known["slope"]) == np.shape(known["deviation"]) == (3,)
    assert study.history().to_frame()["mean"].tolist() == study.history().means.tolist()
