"""What the reference says of public names: every parameter is described, in the docstring that stands there."""

import importlib.util
import re
from pathlib import Path

import griffe
import pytest

ROOT = Path(__file__).parents[1]
OPENED = {"sottovoce.studies.study.Study"}  # by `Study.open`


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def reference():
    return load(ROOT / "docs" / "reference.py")


@pytest.fixture(scope="module")
def package():
    """Return the package as the site reads it: from the source, without importing it."""
    extensions = griffe.load_extensions(str(ROOT / "docs" / "docstrings.py"))
    return griffe.load(
        "sottovoce", search_paths=[ROOT / "src"], docstring_parser="numpy", extensions=extensions, resolve_aliases=True
    )


def described(one):
    """Return the names that a docstring describes, in a section of them or in backticks in its words."""
    found = set()
    for section in one.docstring.parsed if one.docstring else ():
        if section.kind.value in ("parameters", "attributes"):
            found |= {name.strip(" *") for entry in section.value for name in entry.name.split(",")}
        elif section.kind.value == "text":
            found |= set(re.findall(r"`\**(\w+)`", section.value))
    return found


def parameters(one):
    names = [entry.name for entry in one.parameters] if one.is_function or one.is_class else []
    fields = list(one.attributes) if one.is_class and "TypedDict" in map(str, one.bases) else []
    return {name for name in (*names, *fields) if name not in ("self", "cls") and name[0] != "_"}


def entries(reference, package):
    """Yield everything that has an entry: (the function, class or method; its class, if it is a method)."""
    for name in [one for names in reference.stands_at().values() for one in names]:
        found = package[name.definition.removeprefix("sottovoce.")]
        yield found, None
        if found.is_class:
            value = getattr(importlib.import_module(name.module), name.name)
            for member in reference.members(value)[0]:
                yield (found.members.get(member) or found.inherited_members[member].final_target), found


def test_every_parameter_of_a_public_name_is_described(reference, package):
    everything = list(entries(reference, package))
    assert len(everything) > 500
    methods = [one for one, of in everything if of is not None and one.is_function]
    # What one class says of a method's parameter holds for others with the same method: sets, channels, mechanisms.
    shared = {(one.name, name) for one in methods for name in described(one) & parameters(one)}
    forgotten = {}
    for one, of in everything:
        above = [described(base) for base in one.mro()] if one.is_class else []
        known = described(one).union(*above) | {
            name for method, name in shared if of is not None and method == one.name
        }
        if one.path not in OPENED and parameters(one) - known:
            forgotten[one.path] = sorted(parameters(one) - known)
    assert not forgotten, "describe these, in a section Parameters or in backticks in the words of the docstring"


def test_single_choices_of_a_plan_are_described_one_by_one(reference, package):
    choices = package["plans.options.PlanChoices"]
    assert {"radius", "probes", "mechanism"} <= parameters(choices) <= described(choices)
    bandit = package["learning.private_bandit.PrivateBandit"]
    assert {"losses", "prior", "choices"} <= parameters(bandit) <= described(bandit)  # not **options


def test_what_is_missing_would_be_seen():
    with griffe.temporary_visited_package(
        "odd", {"__init__.py": 'def ask(size, most):\n    """Return `size` of them."""\n'}
    ) as package:
        assert parameters(package["ask"]) - described(package["ask"]) == {"most"}
