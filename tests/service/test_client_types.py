"""The types of the client for pages say what the service reads and answers."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_types_follow_from_the_openapi_document():
    script = runpy.run_path(str(ROOT / "docs" / "client_types.py"))
    content = script["renewed"]()
    assert script["JAVASCRIPT"].read_text() == content, "run python docs/client_types.py"
    assert "Told" in content
