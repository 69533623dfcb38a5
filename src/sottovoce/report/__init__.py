"""Pictures of what was found, and pages that hold them. Each is loaded when it is first used: figures take a while."""

from sottovoce._lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__, __file__)  # __init__.pyi says where names live
