"""The types of the clients say what the service reads and answers."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_types_follow_from_the_openapi_document():
    files = runpy.run_path(str(ROOT / "docs" / "client_types.py"))["renewed"]()
    assert {file.suffix for file in files} == {".ts", ".py"}
    for file, content in files.items():
        assert file.read_text() == content, "run python docs/client_types.py"
        assert "Told" in content
