"""What `pip install .` brings is enough to ask and tell; what is missing for more names the extra that brings it.

And the versions of Python that are supported are said alike everywhere.
Programs run where nothing that is installed can be imported but what the plain dependencies bring.
"""

import functools
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from sottovoce._extras import BROUGHT_BY

ROOT = Path(__file__).parents[1]
with (ROOT / "pyproject.toml").open("rb") as file:
    PROJECT = tomllib.load(file)["project"]

PLAIN = """
import json, sys

class LeftOut:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in LEFT_OUT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

LEFT_OUT = set(json.loads(sys.argv.pop(1)))
sys.meta_path.insert(0, LeftOut())
"""

TOUR = """
import warnings
import sottovoce as sv

warnings.simplefilter("error")
task = dict(horizon=200, loss_range=(0.0, 1.0), privacy=sv.PureDP(1.0), losses="linear", integral=True)

def play(one):
    actions = one.ask(size=100)
    one.tell(actions.ids, actions.x[:, 0])
    assert one.recommend().rounds > 0
    assert "epsilon = 1" in str(one.privacy)

play(sv.PrivateBandit(sv.domains.Hypersimplex(6, 2), **task))
with sv.Study.open("sqlite:///plain.db", name="a", domain=sv.domains.Hypersimplex(6, 2), **task) as study:
    play(study)
evaluations = sv.PrivateEvaluations(privacy=sv.PureDP(1.0), loss_range=(0, 1))
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    play(sv.PrivateBandit(sv.domains.SpanningTrees([(0, 1), (1, 2), (2, 0), (2, 3)]), **task))
    vertex = sv.domains.Polytope([[1.0, 1.0]], [1.5], bounds=(0.0, 1.0)).extreme_point([-1.0, -2.0])
    assert abs(vertex - [0.5, 1.0]).max() < 1e-12, vertex
for one in seen:
    print(one.message)
"""


@functools.cache
def left_out():
    """What is installed here and is not brought by the plain dependencies, nor by theirs: names of modules."""
    found, new = {"sottovoce"}, [Requirement(one) for one in PROJECT["dependencies"]]
    while new:
        name = canonicalize_name(new.pop().name)
        if name not in found:
            found.add(name)
            wanted = map(Requirement, requires(name) or ())
            new += [one for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})]
    brought = {name: set(map(canonicalize_name, by)) for name, by in packages_distributions().items()}
    return sorted(name for name, by in brought.items() if not found & by)


def run(program, folder, *arguments):
    return subprocess.run(
        [sys.executable, "-c", PLAIN + program, json.dumps(left_out()), *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "500"},
        capture_output=True,
        text=True,
        timeout=900,
    )


def hint(extra):
    return f"The extra '{extra}' brings it: pip install '.[{extra}]' in a clone of sottovoce"


def test_asking_and_telling_need_the_plain_dependencies_alone(tmp_path):
    """Graphs and linear programs are slower so, which is said once, with what to do about it."""
    assert {"numba", "highspy", "matplotlib", "jinja2", "fastapi", "psycopg", "optuna", "dask"} <= set(left_out())
    done = run(TOUR, tmp_path)
    assert done.returncode == 0, done.stderr
    graphs, programs = done.stdout.splitlines()
    assert hint("graphs") in graphs
    assert hint("lp") in programs


SHELL = """
import contextlib, io
from sottovoce.cli import main

def call(line):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        try:
            main(line.split())
        except SystemExit as ended:
            assert not ended.code, line
    return said.getvalue()

where = "--storage sqlite:///plain.db"
call(f"study create spring --domain hypersimplex:6,2 --integral --horizon 1000 --epsilon 1 {where}")
action = json.loads(call(f"study ask spring {where}"))["actions"][0]["id"]
call(f"study tell spring {action} 0.5 {where}")
for command in ("status", "recommend", "verify", "export"):
    call(f"study {command} spring {where}")
call(f"study list {where}")
call(f"statement spring {where}")
call("domains")
call("plan --domain simplex:2 --horizon 100 --losses linear --integral")
"""


def test_the_commands_for_studies_and_tests_need_the_plain_dependencies_alone(tmp_path):
    done = run(SHELL, tmp_path)
    assert done.returncode == 0, done.stderr


MISSED = {
    "sv.report.run_report": "plots",
    "sv.report.statement_page": "plots",
    "sv.connect('https://decide.example', study='a')": "client",
    "importlib.import_module('sottovoce.service').create_app": "service",
    "sv.integrations.optuna": "optuna",
    "importlib.import_module('sottovoce.integrations.optuna')": "optuna",
    "sv.lab.make_problem('routing:network=abilene', seed=0)": "lab",
    "sv.lab.sweep('folder', sv.lab.grid(['slate'], ['default'], epsilons=[1], horizons=[100], seeds=[0]))": "lab",
    "sv.Study.open('postgresql://nobody@127.0.0.1/nothing', name='a')": "postgres",
    "main(['run', 'slate'])": "plots",
    "main(['compare', 'slate'])": "lab",
    "main(['reproduce'])": "plots",
    "main(['serve', '--dev', '--storage', 'sqlite:///served.db'])": "service",
    "main(['study', 'list', '--storage', 'postgresql://nobody@127.0.0.1/nothing'])": "postgres",
    "main(['statement', '--ledger', 'ledger.json', '--out', 'page.html'])": "plots",
}

MISSING = """
import contextlib, importlib, io
import sottovoce as sv
from sottovoce.cli import main
sv.Ledger(sv.PureDP(1.0), path="ledger.json").charge("a", sv.PureDP(0.5))
for line in json.loads(sys.argv[1]):
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            eval(line)
    except sv.errors.MissingExtra as missing:
        assert isinstance(missing, ImportError) and missing.__suppress_context__
        print(missing)
    except SystemExit as ended:
        assert ended.code == 2
        print(" ".join(said.getvalue().split()))
"""


def test_what_is_missing_names_the_extra_that_brings_it(tmp_path):
    done = run(MISSING, tmp_path, json.dumps(list(MISSED)))
    assert done.returncode == 0, done.stderr
    for (line, extra), said in zip(MISSED.items(), done.stdout.splitlines(), strict=True):
        assert hint(extra) in said, (line, said)
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.json"]


def test_extras_bring_what_they_are_said_to_bring():
    """Every package of every extra is in the table by the name that it is imported by, and with that extra."""
    extras = PROJECT["optional-dependencies"]
    for extra in extras.keys() - {"dev", "all"}:
        own = {Requirement(one).name.replace("-", "_") for one in extras[extra]} - {"sottovoce"}
        assert own <= {name for name, brought_by in BROUGHT_BY.items() if brought_by == extra}, extra
    assert set(BROUGHT_BY.values()) == extras.keys() - {"dev", "all"}


def test_no_page_installs_a_name_that_is_on_no_index():
    for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"pip install [\"']?sottovoce\b(?!-)", text), page


# ---------------------------------------------------------------------- versions of Python

CLASSIFIERS = "\n".join(PROJECT["classifiers"])
SUPPORTED = re.findall(r"^Programming Language :: Python :: (3\.\d+)$", CLASSIFIERS, re.MULTILINE)


def test_the_tests_run_on_a_version_that_is_supported():
    running = "{}.{}".format(*sys.version_info)
    assert running in SUPPORTED, (
        f"if all else passes, add {running} to the classifiers in pyproject.toml, and to the pages"
    )


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/tutorials/five-minutes.md"])
def test_pages_name_the_versions_that_are_supported(page):
    said = re.search(r"Python (3\.\d+(?:, 3\.\d+)* (?:or|and) 3\.\d+)", (ROOT / page).read_text(encoding="utf-8"))
    assert re.findall(r"3\.\d+", said[1]) == SUPPORTED


def test_older_versions_are_refused_by_pip_and_by_make():
    oldest = SUPPORTED[0]
    assert PROJECT["requires-python"] == f">={oldest}"
    assert "sys.version_info < ({}, {})".format(*oldest.split(".")) in (ROOT / "Makefile").read_text(encoding="utf-8")
