"""Importing the library loads next to nothing, and everything is there all the same."""

import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from typer.main import get_command

import sottovoce as sv
from sottovoce import _compiled
from sottovoce.cli.app import COMMANDS, app

HEAVY = (
    *("numba", "matplotlib", "highspy", "opendp", "psycopg", "networkx", "rich", "typer", "jinja2", "scipy"),
    *("filelock", "httpx2", "fastapi", "optuna"),
)


def loaded_by(program):
    """Return which of the heavy packages a program has loaded."""
    program += f"\nimport sys\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_loads_nothing_heavy():
    assert loaded_by("import sottovoce") == set()


def test_an_optimizer_needs_neither_a_compiler_nor_a_database():
    program = """
import sottovoce as sv
optimizer = sv.PrivateBandit(
    sv.domains.Hypersimplex(6, 2), horizon=100, loss_range=(0, 1), losses="linear", privacy=sv.NoPrivacy()
)
optimizer.tell(optimizer.ask().id, 0.5)
"""
    assert loaded_by(program) <= {"scipy"}


@pytest.mark.long
def test_every_module_may_be_the_first_that_is_imported():
    program = """
import importlib, os, sys
import fastapi, matplotlib.pyplot, numba, opendp, optuna, rich, scipy.optimize, sqlalchemy, typer
known = set()
for name in sys.argv[1:]:
    if name in known:
        continue  # its package imports it, and is imported before it whoever wants it
    reading, writing = os.pipe()
    if not os.fork():
        try:
            importlib.import_module(name)
            os.write(writing, " ".join(one for one in sys.modules if one.startswith(f"{name}.")).encode())
        except BaseException as problem:
            print(name, problem, flush=True)
        os._exit(0)
    os.wait()
    os.close(writing)
    with open(reading) as pipe:
        known.update(pipe.read().split())
"""
    source = Path(sv.__file__).parent
    names = [".".join(path.relative_to(source.parent).with_suffix("").parts) for path in source.rglob("*.py")]
    names = [one.removesuffix(".__init__") for one in names]
    public = sorted(one for one in names if "._" not in one and one.count(".") <= 2)
    done = subprocess.run([sys.executable, "-c", program, *public], capture_output=True, text=True, check=True)
    assert (len(public) > 100, done.stdout) == (True, "")


def test_the_list_of_commands_loads_none_of_them():
    program = """
import os, sys
from sottovoce.cli import main
sys.stdout = open(os.devnull, "w")
for words in (["--help"], ["--version"], []):
    try:
        main(words)
    except SystemExit:
        pass
sys.stdout = sys.__stdout__
"""
    assert loaded_by(program) == {"rich", "typer"}


def test_the_list_of_commands_says_what_each_says_itself():
    for name, words in COMMANDS.items():
        first = " ".join(get_command(app).get_command(None, name).help.split("\n\n")[0].split())
        assert words == first, name


def test_nothing_needs_a_unix(tmp_path):
    """Everything is imported, and a study asks and tells, where there are no forks and no locks of Unix."""
    program = """
import os, sys, warnings
for name in ("fcntl", "termios", "resource", "pwd", "grp"):
    sys.modules[name] = None
del os.fork, os.register_at_fork
warnings.simplefilter("ignore")  # of filelock, which does not find Windows either
import sottovoce as sv
for name in sv.__all__:
    getattr(sv, name)
from typer.main import get_command
from sottovoce.cli.app import app
group = get_command(app)
assert len([group.get_command(None, name) for name in group.list_commands(None)]) > 5
settings = {"domain": sv.domains.Ball(2), "horizon": 50, "loss_range": (0, 1), "privacy": sv.PureDP(1.0)}
with sv.Study.open("sqlite:///one.db", name="one", **settings) as study:
    study.tell(study.ask().id, 0.5)
    assert study.status().told == 1
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)


def test_every_public_name_is_there_and_at_home():
    program = """
from sottovoce import *
import sottovoce
missing = [name for name in sottovoce.__all__ if name not in globals() or name not in dir(sottovoce)]
assert not missing, missing
"""
    subprocess.run([sys.executable, "-c", program], check=True)
    for name in sv.__all__:
        assert getattr(sv, name) is not None
    with pytest.raises(AttributeError, match="module 'sottovoce' has no attribute 'nothing'"):
        sv.nothing  # noqa: B018


@_compiled.compiled
def tripled(value):
    return 3 * value


def test_kernels_are_pickled_by_name():
    assert pickle.loads(pickle.dumps(tripled)) is tripled


def test_threads_may_be_the_first_to_call_together():
    start = threading.Barrier(4)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: start.wait() < 0 or tripled(5.0), range(4)))
    assert answers == [15.0] * 4
