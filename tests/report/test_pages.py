"""What both kinds of pages have in common: they load nothing, and can be read by machines and by everyone."""

import base64
import hashlib
import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.lab.problems import PROBLEMS
from sottovoce.report import run_report, sweep_report


@pytest.fixture(params=["run", "sweep"], scope="module")
def page(request, make_sweep, make_run, read_page, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    if request.param == "run":
        problem = PROBLEMS["slate"]()
        optimizer = problem.optimizer(horizon=1_000, privacy=sv.NoPrivacy(), seed=1)
        run_report(make_run(), path, optimizers=[optimizer], problem=problem, command="sottovoce run x")
    else:
        sweep_report(make_sweep(failed=(3,)), path)
    return read_page(path)


def test_no_script_may_run_but_the_pages_own(page):
    (policy,) = (one.attributes["content"] for one in page.tags("meta") if "http-equiv" in one.attributes)
    (script,) = page.tags("script")
    digest = base64.b64encode(hashlib.sha256(script.text.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe-inline" not in policy.partition("script-src")[2]


def test_headings_tables_and_pictures_can_be_read_aloud(page):
    levels = [int(one.name[1]) for one in page.tags() if re.fullmatch("h[1-6]", one.name)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 or after == 4 for before, after in pairwise(levels))
    assert all(one.attributes.get("scope") in ("col", "row") for one in page.tags("th"))
    assert all(any(child.name == "caption" for child in one.children) for one in page.tags("table"))
    assert all(one.attributes.get("aria-label") for one in page.tags("svg", "chart"))
    assert all(list(one.all("figcaption")) for one in page.tags("figure"))
    assert page.tags("html")[0].attributes["lang"] == "en"
    ids = Counter(one.attributes["id"] for one in page.tags() if "id" in one.attributes)
    assert max(ids.values()) == 1
    for one in page.tags("a"):
        assert one.attributes["href"].lstrip("#") in ids


def test_every_number_in_a_table_has_its_exact_value(page):
    for cell in page.tags("td", "n"):
        exact = cell.attributes["data-value"]
        shown = re.split("[±(]", cell.text)[0].strip().rstrip("×").replace(",", "").replace("−", "-")
        if shown in ("", "–", "∞", "none"):
            assert not np.isfinite(float(exact))
        else:
            assert float(shown) == pytest.approx(float(exact), rel=0.006)


def test_a_page_is_the_same_when_it_is_written_again(make_sweep, tmp_path):
    sweep = make_sweep()
    first, second = (sweep_report(sweep, tmp_path / f"{name}.html").read_bytes() for name in "ab")
    assert first == second
    assert not list(tmp_path.glob("*.partial"))


def test_text_of_problems_is_escaped(make_run, read_page, tmp_path):
    """A problem may be anybody's class: its title, story and words are text."""

    class Mine(PROBLEMS["ball"]):
        title = "<script>alert(1)</script>"
        story = "<img src=x onerror=alert(2)>"

    problem = Mine(dimension=3)
    problem.environment.domain = problem.domain.labelled(["<b>what</b>", '"><b>much</b>', "else"])
    optimizer = problem.optimizer(horizon=100, privacy=sv.NoPrivacy(), seed=1)
    path = run_report(make_run(), tmp_path / "r.html", problem=problem, optimizers=[optimizer])
    page = read_page(path)
    assert len(page.tags("script")) == 1
    assert not page.tags("b")
    assert not page.tags("img")
    assert "<img src=x onerror=alert(2)>" in page.text
    assert '"><b>much</b>' in page.text
