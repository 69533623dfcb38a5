"""Other people's optimizers, with private evaluations beneath; each is imported when it is first used."""

from sottovoce._lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__, __file__)  # __init__.pyi says where names live
