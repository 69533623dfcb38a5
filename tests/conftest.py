"""Settings of all tests: no deadlines, since machines are noisy; the same examples in every CI run.

A busy machine is not taken for a process that stands still: a server waits ten minutes for it, and so for those that
tests start. Tests of processes that do stand still set limits of their own.
"""

import gc
import importlib
import os
import pkgutil
import sys
from pathlib import Path

import pytest
from hypothesis import settings

os.environ["SOTTOVOCE_IDLE_SECONDS"] = "600"  # before anything is imported that reads it

sys.path.insert(0, str(Path(__file__).parent))  # tests cannot import one another, so what they share has a name
import browsers
import sottovoce
import started
import storages
import system

settings.register_profile("sottovoce", deadline=None, derandomize="CI" in os.environ, max_examples=40)
settings.load_profile("sottovoce")

# pytest loads a file whose examples it runs a second time unless its module is there: there would be two of each class.
for _, _module, _ in pkgutil.walk_packages(sottovoce.__path__, "sottovoce."):
    if not _module.endswith("__main__"):
        importlib.import_module(_module)


def pytest_collection_finish():
    """Let the garbage collector pass over what lives as long as the tests: modules, and thousands of items."""
    gc.collect()
    gc.freeze()


programs, start, browser, show = browsers.programs, browsers.start, browsers.browser, browsers.show
certificate = started.certificate
own_server, postgres_server, postgres_url = storages.own_server, storages.postgres_server, storages.postgres_url
shelf, sqlite_url, url = storages.shelf, storages.sqlite_url, storages.url


@pytest.fixture(scope="session")
def system_program():
    """`system_program("initdb")` is the path of the program; without it the test is skipped, and in CI it fails."""
    return system.needs
