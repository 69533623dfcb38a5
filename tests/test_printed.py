"""What is printed is what a notebook shows, as tables: the same words, escaped, with headings and heads of rows."""

import re
import sys
from html import unescape

import numpy as np
import pandas
import pytest

import sottovoce as sv
from sottovoce._printed import Printed
from sottovoce.errors import MissingExtra
from sottovoce.report import statement
from sottovoce.studies import Status


def words(text):
    return re.sub(r"[\s!-]+", " ", text).split()


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('printed') / 'a.db'}"
    options = {"horizon": 900, "loss_range": (0.0, 1.0), "losses": "linear", "integral": True, "seed": 1}
    drinks = sv.domains.Simplex(["<b>tea</b>", "coffee", "milk"])
    with sv.Study.open(url, name="a & b", domain=drinks, privacy=sv.PureDP(1.0), **options) as made:
        for _ in range(2):
            actions = made.ask_round()
            made.tell(actions.ids, actions.x[:, 0])
        made.ask(3)
        yield made


def compared():
    evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(1.0))
    means = {}
    for name in "AB":
        one = evaluations.open(events=50)
        one.tell([0.5] * 50)
        means[name] = one
    return sv.ab_test(means)


def test_all_that_people_print_is_a_table_of_the_same_words_in_a_notebook(study):
    shown = {
        "plan": sv.plan(study.domain, 900, (0.0, 1.0), sv.PureDP(1.0), rehearse=0.03, losses="linear", integral=True),
        "recommendation": study.recommend(),
        "posterior": study.posterior(),
        "status": study.status(),
        "privacy": study.privacy,
        "statement": statement(study),
        "outstanding": study.outstanding(),
        "enough": study.enough(),
        "comparison": compared(),
    }
    for name, one in shown.items():
        html = one._repr_html_()
        text = unescape(re.sub(r"<[^>]+>", " ", html))
        assert words(text) == words(str(one)), name
        assert "<b>" not in html
        assert html.count("<table>") == html.count("<caption") or name == "statement"
        assert html.count("<th ") == html.count('<th scope="row"')
    assert '<th scope="row"' in shown["status"]._repr_html_()
    assert isinstance(shown["status"], Status)


class Spelled(Printed):
    def _parts(self):
        return [("<i>", [("<a>", "<b>"), ("", "<c>")])]


def test_everything_is_escaped():
    assert str(Spelled()) == "<i>\n  <a>      <b>\n  <c>"
    assert re.findall(r"&lt;(\w)&gt;", Spelled()._repr_html_()) == ["i", "a", "b", "c"]


def test_a_block_of_actions_shows_its_first_decisions(study):
    html = study.ask(10)._repr_html_()
    assert html.count("<tr>") == 9
    assert "and 2 more" in html
    assert "&lt;b&gt;tea&lt;/b&gt;" in html or "coffee" in html or "milk" in html


def test_tables_for_pandas_or_what_to_install(study, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    for one in (study.posterior(), study.history()):
        with pytest.raises(MissingExtra, match="pip install pandas"):
            one.to_frame()
    monkeypatch.delitem(sys.modules, "pandas")
    known = study.posterior().to_frame()
    assert isinstance(known, pandas.DataFrame)
    assert list(known["name"]) == ["<b>tea</b>", "coffee", "milk"]
    assert np.shape(known["slope"]) == np.shape(known["deviation"]) == (3,)
    assert study.history().to_frame()["mean"].tolist() == study.history().means.tolist()
