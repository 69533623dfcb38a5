"""The rule itself: a missing program skips a test, except where everything must run."""

import subprocess
import sys
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


@pytest.mark.parametrize(("required", "code", "word"), [("", 0, "1 skipped"), ("1", 1, "1 error")])
def test_pytest_as_a_whole_passes_or_fails(tmp_path, plain, required, code, word):
    """With a real pytest: where nothing is required the run passes with a skip; where it is, the run fails."""
    plain.setenv("SOTTOVOCE_REQUIRE_SYSTEM", required)
    here = Path(__file__).parent
    for name in ("system.py", "storages.py", "browsers.py", "conftest.py"):
        (tmp_path / name).write_text((here / name).read_text())
    (tmp_path / "test_it.py").write_text(
        "import pytest\n\n@pytest.fixture\ndef browser(system_program):\n"
        f"    return system_program({MISSING!r})\n\ndef test_it(browser):\n    assert browser\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, word in done.stdout) == (code, True), done.stdout
