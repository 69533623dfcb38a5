"""Private, projection-free bandit optimisation.

Decide online over hard feasible sets, from loss values alone, while every person's loss stays differentially private.
"""

from sottovoce._lazy import lazily

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazily(__name__, __file__)  # __init__.pyi says where names live
