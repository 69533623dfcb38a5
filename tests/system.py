"""One rule for tests that need a program from the operating system: skipped where it is missing, but never in CI."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

REQUIRED = ("SOTTOVOCE_REQUIRE_SYSTEM", "CI")
ALSO_IN = {  # Debian keeps PostgreSQL's programs out of PATH, newest version last, and nginx out of most people's
    "initdb": "/usr/lib/postgresql/*/bin",
    "nginx": "/usr/sbin",
    "axe.min.js": "/usr/local/lib/node_modules/axe-core",
}


def find(program: str, folders: Iterable[str] = ()) -> str | None:
    """Return where a program is, or None."""
    found = shutil.which(program)
    if found:
        return found
    for pattern in [*folders, *([ALSO_IN[program]] if program in ALSO_IN else [])]:
        places = sorted(Path("/").glob(f"{pattern.lstrip('/')}/{program}"), key=lambda path: (len(str(path)), path))
        if places:
            return str(places[-1])
    return None


def required() -> str | None:
    """Return the name of the variable that forbids skipping, or None."""
    return next((name for name in REQUIRED if os.environ.get(name, "").lower() not in ("", "0", "false")), None)


def needs(program: str, *folders: str) -> str:
    """Return the path of a program; without it skip the test, or fail it where everything must run."""
    found = find(program, folders)
    if found:
        return found
    message = f"{program} is not installed (`make system`, as root, installs it)"
    variable = required()
    if variable:
        pytest.fail(f"{message}, and {variable} is set: this test must not be skipped", pytrace=False)
    pytest.skip(message)
