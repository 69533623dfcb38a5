"""The types of the JavaScript client say what the service reads and answers."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_types_follow_from_the_openapi_document():
    script = runpy.run_path(str(ROOT / "docs" / "client_types.py"))
    written = script["FILE"].read_text()
    assert script["renewed"](written) == written, "run python docs/client_types.py"
    assert "interface Told" in written
