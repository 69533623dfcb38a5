"""For researchers: worlds to simulate, problems, algorithms to compare with, and sweeps over all of them.

Nothing here exists in a live deployment, and nothing outside needs it.
"""

from sottovoce._lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__, __file__)  # __init__.pyi says where names live
