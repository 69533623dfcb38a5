"""The rule itself: a missing program skips a test, except where everything must run."""

from pathlib import Path

import pytest

MISSING = "no-such-program-anywhere"


@pytest.fixture
def plain(monkeypatch):
    for name in ("CI", "SOTTOVOCE_REQUIRE_SYSTEM"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_a_missing_program_skips_and_says_which(plain, system_program):
    with pytest.raises(pytest.skip.Exception, match=f"{MISSING} is not installed.*make system"):
        system_program(MISSING)


@pytest.mark.parametrize("value", ["", "0", "false"])
def test_a_variable_that_is_off_is_off(plain, system_program, value):
    plain.setenv("SOTTOVOCE_REQUIRE_SYSTEM", value)
    with pytest.raises(pytest.skip.Exception):
        system_program(MISSING)


@pytest.mark.parametrize(("name", "value"), [("CI", "true"), ("SOTTOVOCE_REQUIRE_SYSTEM", "1")])
def test_where_everything_must_run_it_fails(plain, system_program, name, value):
    plain.setenv(name, value)
    with pytest.raises(pytest.fail.Exception, match=f"{MISSING} is not installed.*{name} is set"):
        system_program(MISSING)


def test_a_program_is_found_in_path_or_in_the_folders_named(plain, system_program, tmp_path):
    assert Path(system_program("sh")).name == "sh"
    for version in ("9", "15"):
        (tmp_path / version / "bin").mkdir(parents=True)
        (tmp_path / version / "bin" / MISSING).touch()
    assert system_program(MISSING, f"{tmp_path}/*/bin") == str(tmp_path / "15" / "bin" / MISSING)
