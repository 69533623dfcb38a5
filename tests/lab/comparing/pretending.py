"""What a worker can be made to believe of itself; imports nothing, so that workers without anything can load it."""

import platform
import sys

_before = {}


def other_versions():
    """Be a worker with another Python, numpy and sottovoce."""
    numpy, library = sys.modules["numpy"], sys.modules["sottovoce"]
    _before["undo"] = [
        (platform, "python_version", platform.python_version),
        (numpy, "__version__", numpy.__version__),
        (library, "__version__", library.__version__),
    ]
    platform.python_version = lambda: "3.10.1"
    numpy.__version__ = "1.99.0"
    library.__version__ = "0.0.9"


def no_library():
    """Be a worker that cannot import the library."""
    _before["modules"] = {name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith("sottovoce")}
    sys.modules["sottovoce"] = None


def be_yourself():
    """Undo either."""
    for owner, name, value in _before.pop("undo", ()):
        setattr(owner, name, value)
    sys.modules.update(_before.pop("modules", {}))
