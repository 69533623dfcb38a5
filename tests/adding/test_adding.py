"""A set, a problem and a baseline, each one file and one line, work everywhere; what would not is refused, and why."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sottovoce
from sottovoce.lab import baselines
from sottovoce.lab._catalogue import by_name
from sottovoce.lab.problems import base

pytestmark = pytest.mark.long  # the library is copied, and started in processes of their own
HERE, PACKAGE = Path(__file__).parent, Path(sottovoce.__file__).parent
ROOT = HERE.parents[1]
SECTION = re.search(r"^## Adding a domain$(.*?)^## ", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL | re.MULTILINE)
EVERYWHERE = """
import json
import sys

import sottovoce as sv
from sottovoce.cli import main


def command(*words):
    try:
        main(list(words))
    except SystemExit as ending:
        return ending.code


if __name__ == "__main__":
    folder = sys.argv[1]
    print(json.dumps([sv.lab.problems.Shops.name, sv.lab.baselines.Pendulum.name]))
    print(command("compare", "--help"), command("run", "--help"))
    print(command("run", "shops:shops=4", "--horizon", "300", "--simulated-noise", "--out", f"{folder}/run"))
    names = "default,no-privacy,pendulum,phased-elimination"
    grid = ["shops", "ball:dimension=2", "--algorithms", names, "--horizon", "200", "--seeds", "1", "--jobs", "1"]
    print(command("compare", *grid, "--out", f"{folder}/sweep"))
"""


def block(language):
    return re.search(rf"^```{language}\n(.*?)^```$", SECTION[1], re.DOTALL | re.MULTILINE)[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a library that has all three; nobody else's is touched."""
    folder = tmp_path_factory.mktemp("adding")
    library = folder / "sottovoce"
    shutil.copytree(PACKAGE, library)  # with what is compiled already
    choices, problems, learners = (library / path for path in ("domains/choices", "lab/problems", "lab/baselines"))
    (choices / "prefixes.py").write_text(block("python"))
    (problems / "shops.py").write_text((HERE / "toy_problem.py").read_text())
    (learners / "pendulum.py").write_text((HERE / "toy_baseline.py").read_text())
    with (choices / "__init__.py").open("a") as file:
        file.writelines(line[1:] + "\n" for line in block("diff").splitlines() if line.startswith("+"))
    add_line(problems / "__init__.py", "from sottovoce.lab.problems.shops import Shops as Shops")
    add_line(learners / "__init__.py", "from sottovoce.lab.baselines.pendulum import Pendulum as Pendulum")
    return folder


def add_line(init, line):
    """Add a line to an `__init__`, after its imports."""
    lines = init.read_text().splitlines(keepends=True)
    last = max(place for place, one in enumerate(lines) if one.startswith("from sottovoce"))
    init.write_text("".join([*lines[: last + 1], line + "\n", *lines[last + 1 :]]))


def printed_by(program, folder, *arguments):
    """What a program prints that imports the library from a folder, and the documentation's programs from here."""
    paths = os.pathsep.join((str(folder), str(ROOT / "docs")))
    environment = {**os.environ, "PYTHONPATH": paths, "COLUMNS": "400", "NO_COLOR": "1", "OPENBLAS_NUM_THREADS": "1"}
    (folder / "program.py").write_text(program)
    command = [sys.executable, str(folder / "program.py"), *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


# ---------------------------------------------------------------------- a set, as CONTRIBUTING shows it


TOUR = """
import contextlib, doctest, io
import reference
import sottovoce as sv
from sottovoce.cli import main
from sottovoce.domains.choices import prefixes
from sottovoce.domains.specification import build, specify

def command(*arguments):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            main(list(arguments))
        except SystemExit as ended:
            return ended.code, printed.getvalue()

domain = sv.domains.Prefixes(6)
assert sv.domains.Prefixes in sv.domains.all_domains()  # the contract suites run over these
for example in domain.examples():
    sv.domains.check_domain(example)
assert repr(build(specify(domain))) == "Prefixes(6)"

code, out = command("domains")
assert code == 0 and "prefixes:6" in out and "Choices of the first k of n items" in out, out
code, out = command("plan", "--domain", "prefixes:6", "--horizon", "10k", "--plan", "paper")
assert code == 0, out
code, out = command("plan", "--domain", "prefix:6", "--horizon", "10k")
assert code == 2 and "prefixes:6" in out and "hypersimplex:20,5" in out, out

code, out = command("study", "create", "a", "--storage", "sqlite:///a.db", "--domain", "prefixes:6", "--horizon", "600",
                    "--epsilon", "1")
assert code == 0, out
with sv.Study.open("sqlite:///a.db", name="a") as study:  # made again from what is stored
    actions = study.ask(100)
    study.tell(actions.ids, actions.x.mean(axis=1))
    assert actions.x.shape == (100, 6) and study.verify().ok

options = {"horizon": 20, "loss_range": (0.0, 1.0), "privacy": sv.PureDP(1.0)}
plan = sv.plan(domain, **options, rehearse=False, plan="worst-case", batch_size=10)

def optimizer(seed, noise):
    return sv.PrivateBandit(domain, plan=plan, seed=seed, noise=noise, **options)

assert sv.audit(optimizer, runs=400, noise_seed=1).passed
assert "`Prefixes`" in reference.tables()
assert not doctest.testmod(prefixes).failed
"""


def test_a_new_domain_works_everywhere_by_one_file_and_its_name_in_one_place(folder):
    printed_by(TOUR, folder)


# ---------------------------------------------------------------------- a problem and a baseline


@pytest.fixture(scope="module")
def printed(folder):
    """What is printed of both toys; what is written is in the folder."""
    return printed_by(EVERYWHERE, folder, str(folder))


def test_they_are_in_the_interface_and_in_the_help(printed):
    assert printed.splitlines()[0] == json.dumps(["shops", "pendulum"])
    assert printed.count("shops") >= 3
    assert "pendulum" in printed


def test_the_problem_is_run_and_reported(folder, printed):
    page = (folder / "run" / "report.html").read_text()
    assert "Which shop gets how much" in page
    assert "shop 4" in page
    assert "<figcaption>Learned" in page
    assert "<figcaption>The best fixed decision" in page
    assert "learned" in printed


def test_both_are_compared_and_what_does_not_fit_says_why(folder, printed):
    page = (folder / "sweep" / "report.html").read_text()
    rows = (folder / "sweep" / "results.csv").read_text().splitlines()
    status = {tuple(row.split(",")[:2]): row.split(",")[5] for row in rows if row.split(",")[1] != "default"}
    assert status["shops", "pendulum"] == status["ball:dimension=2", "pendulum"] == "done"
    assert status["ball:dimension=2", "phased-elimination"] == "failed"
    assert "phased-elimination is for linear losses" in page
    assert 'data-name="pendulum"' in page
    assert "Which shop gets how much" in page
    assert "shops: regret in simulation" in printed


class Twin(baselines.ThompsonSampling):
    pass


class Half(base.DecisionProblem):
    name, title, story = "half", "Half a problem", "It cannot be drawn."


@pytest.mark.parametrize(
    ("kinds", "reason"),
    [
        ([baselines.ThompsonSampling, Twin], "two are named thompson-sampling: ThompsonSampling and Twin"),
        ([Half], "Half is not complete yet: it lacks examples"),
    ],
)
def test_what_would_not_work_is_refused_at_the_door(kinds, reason):
    with pytest.raises((TypeError, ValueError), match=reason):
        by_name({kind.__name__: kind for kind in kinds}, base.DecisionProblem)
