"""Checks a claim of privacy from outside: run the real optimizer, attack what it releases, count."""

from sottovoce._lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__, __file__)  # __init__.pyi says where names live
