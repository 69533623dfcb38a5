"""What an object was made with: remembered, so that it can be made again elsewhere."""

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any


class RemembersArguments:
    """A mixin whose instances keep the arguments of their construction, by name."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = _remembering(cls.__init__)  # type: ignore[method-assign]

    @property
    def made_with(self) -> dict[str, Any]:
        """The arguments of the constructor, by name."""
        return dict(vars(self).get("_made_with", {}))


def _remembering(construct: Callable[..., None]) -> Callable[..., None]:
    signature = inspect.signature(construct)

    @functools.wraps(construct)
    def remembering(self: Any, *given: Any, **named: Any) -> None:
        if "_made_with" not in vars(self):  # the outermost constructor is the one that was called
            given = tuple(list(one) if isinstance(one, Iterator) else one for one in given)
            named = {name: list(one) if isinstance(one, Iterator) else one for name, one in named.items()}
            try:
                bound = signature.bind(self, *given, **named)
            except TypeError:  # let the constructor itself say what is wrong
                construct(self, *given, **named)
                raise
            vars(self)["_made_with"] = dict(list(bound.arguments.items())[1:])
            construct(self, *given, **named)
            vars(self)["_is_made"] = True
        else:
            construct(self, *given, **named)

    return remembering
