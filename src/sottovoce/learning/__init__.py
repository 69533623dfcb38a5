"""What people meet of optimizers in memory, loaded when it is first used: it stands on the optimizer, and above it."""

from sottovoce._lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__, __file__)  # __init__.pyi says where names live
