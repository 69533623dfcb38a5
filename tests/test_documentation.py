"""Every Python block of the README and of docs/ runs, and every file that the paper's map names exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_python_blocks_run(block, capsys):
    exec(compile(block, "documentation", "exec"), {})


def test_there_are_blocks_to_run():
    assert BLOCKS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_the_papers_map_names_files_that_exist():
    text = (ROOT / "docs" / "paper-to-code.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:tests|learning|privacy|exploration|projection)/[\w/]+\.py)(?:::(\w+))?`", text))
    assert len(named) > 10
    for path, test in named:
        file = ROOT / path if path.startswith("tests/") else ROOT / "src" / "sottovoce" / path
        assert file.exists(), path
        assert not test or re.search(rf"(def|class) {test}\b", file.read_text(encoding="utf-8")), f"{path}::{test}"
