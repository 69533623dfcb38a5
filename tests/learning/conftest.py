"""What the tests of learning share."""

import sys
from pathlib import Path

_HERE = Path(__file__).parent
sys.path[:0] = [
    str(_HERE),
    str(_HERE.parent / "rounds"),
]  # tests cannot import one another, so what they share has a name
