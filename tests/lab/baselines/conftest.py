import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "learning"))  # private baselines are watched as the optimizer is
