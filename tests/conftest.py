"""Settings of all tests: no deadlines, since machines are noisy; the same examples in every CI run."""

import os

from hypothesis import settings

settings.register_profile("sottovoce", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("sottovoce")
