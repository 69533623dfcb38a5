"""A server that asks and tells does without what docs/reference/dependencies.md says can be left out."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODULES = {"fonttools": "fontTools", "pillow": "PIL"}  # where they are called otherwise

TOUR = """
import sys

class LeftOut:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in LEFT_OUT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

LEFT_OUT = set(sys.argv[1:])
sys.meta_path.insert(0, LeftOut())

import sottovoce as sv

task = dict(horizon=200, loss_range=(0.0, 1.0), privacy=sv.PureDP(1.0), losses="linear", integral=True)
optimizer = sv.PrivateBandit(sv.domains.Hypersimplex(6, 2), **task)
with sv.Study.open("sqlite:///left-out.db", name="a", domain=sv.domains.Hypersimplex(6, 2), **task) as study:
    for one in (optimizer, study):
        actions = one.ask(size=100)
        one.tell(actions.ids, actions.x[:, 0])
        assert one.recommend().rounds > 0
        assert "epsilon = 1" in str(one.privacy)
assert not LEFT_OUT & {name.split(".")[0] for name in sys.modules}
try:
    import matplotlib
except ModuleNotFoundError:
    print("left out")
"""


def test_asking_and_telling_do_without_what_can_be_left_out(tmp_path):
    page = (ROOT / "docs" / "reference" / "dependencies.md").read_text(encoding="utf-8")
    named = re.search(r"pip uninstall --yes ([\w ]+)\n", page)[1].split()
    assert "matplotlib" in named
    left_out = {*(MODULES.get(name, name) for name in named), "typer", "rich", "jinja2"}
    done = subprocess.run(
        [sys.executable, "-c", TOUR, *sorted(left_out)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert (done.returncode, done.stdout) == (0, "left out\n"), done.stderr
