"""What the tests of learning share."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # tests cannot import one another, so what they share has a name
