"""The rule itself: a missing program skips a test, except where everything must run."""

from pathlib import Path

import pytest

MISSING = "no-such-program-anywhere"


@pytest.mark.parametrize(
    ("variable", "value", "outcome", "words"),
    [
        ("SOTTOVOCE_REQUIRE_SYSTEM", "", pytest.skip.Exception, "make system"),
        ("SOTTOVOCE_REQUIRE_SYSTEM", "0", pytest.skip.Exception, "make system"),
        ("SOTTOVOCE_REQUIRE_SYSTEM", "1", pytest.fail.Exception, "SOTTOVOCE_REQUIRE_SYSTEM is set"),
        ("CI", "true", pytest.fail.Exception, "CI is set"),
    ],
)
def test_what_is_missing_skips_a_test_or_fails_it(monkeypatch, system_program, variable, value, outcome, words):
    for name in ("CI", "SOTTOVOCE_REQUIRE_SYSTEM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, value)
    with pytest.raises(outcome, match=f"{MISSING} is not installed.*{words}"):
        system_program(MISSING)


def test_a_program_is_found_in_path_or_in_the_folders_named(system_program, tmp_path):
    assert Path(system_program("sh")).name == "sh"
    for version in ("9", "15"):
        (tmp_path / version / "bin").mkdir(parents=True)
        (tmp_path / version / "bin" / MISSING).touch()
    assert system_program(MISSING, f"{tmp_path}/*/bin") == str(tmp_path / "15" / "bin" / MISSING)
