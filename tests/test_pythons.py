"""The versions of Python that are supported: said alike everywhere, and this is one of them."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
with (ROOT / "pyproject.toml").open("rb") as file:
    PROJECT = tomllib.load(file)["project"]
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
