"""What is closed at the end of a `with` block."""

from typing import Self


class Closing:
    """Something with a `close`, which `with` calls in the end."""

    def close(self) -> None:
        """Let go of what is held."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
