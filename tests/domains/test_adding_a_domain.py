"""What CONTRIBUTING says of a new domain is all there is to do: one file, and its name where its family exports it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sottovoce

ROOT = Path(__file__).parents[2]
SECTION = re.search(r"^## Adding a domain$(.*?)^## ", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL | re.MULTILINE)


def block(language):
    return re.search(rf"^```{language}\n(.*?)^```$", SECTION[1], re.DOTALL | re.MULTILINE)[1]


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A copy of the library, with the file and the lines that CONTRIBUTING shows."""
    top = tmp_path_factory.mktemp("house")
    source = Path(sottovoce.__file__).parent
    shutil.copytree(source, top / "sottovoce")  # with what is compiled already
    choices = top / "sottovoce" / "domains" / "choices"
    (choices / "prefixes.py").write_text(block("python"))
    added = [line[1:] for line in block("diff").splitlines() if line.startswith("+")]
    with (choices / "__init__.py").open("a") as file:
        file.write("\n".join(added) + "\n")
    return top


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


@pytest.mark.long
def test_a_new_domain_works_everywhere_by_one_file_and_its_name_in_one_place(house, tmp_path):
    paths = os.pathsep.join((str(house), str(ROOT / "docs")))
    done = subprocess.run(
        [sys.executable, "-c", TOUR],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths, "COLUMNS": "200", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr + done.stdout
