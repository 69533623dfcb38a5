"""Studies over HTTP: private decisions for whatever speaks it, keys for who may do what, a dashboard."""

from sottovoce._lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__, __file__)  # __init__.pyi says where names live
