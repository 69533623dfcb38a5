"""Everything that touches a private value before its noise, and the promises about it. Knows no domain, no learner."""

from sottovoce._lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__, __file__)  # __init__.pyi says where names live
