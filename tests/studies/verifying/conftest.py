"""A sound study, and a copy of it to do damage to."""

import itertools
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

import numpy as np
import pytest
from damaging import LOSS, OPTIONS, open_in, play


@pytest.fixture(scope="module")
def folders():
    """Folders in memory where there are any: these tests are not about durability, and disks are slow to promise it."""
    base = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=base if os.access(base, os.W_OK) else None) as top:
        yield (Path(tempfile.mkdtemp(dir=top)) for _ in itertools.count())


@pytest.fixture
def tmp_path(folders):
    return next(folders)


@pytest.fixture(scope="module")
def sound(folders):
    """A study with closed rounds, and an open one with losses."""
    folder = next(folders)
    with open_in(folder, **OPTIONS) as study:
        play(study, 400)
        study.tell(study.ask(20).ids[:7], np.full(7, LOSS))
        found = study.verify()
        assert found.ok
        assert found.chunks > 0
    return folder


@pytest.fixture
def database(sound, tmp_path):
    """A copy of it to do damage to."""
    for file in Path(sound).iterdir():
        shutil.copy(file, tmp_path / file.name)
    connection = sqlite3.connect(tmp_path / "study.db", isolation_level=None)
    connection.execute("PRAGMA ignore_check_constraints = 1")
    yield connection
    connection.close()
