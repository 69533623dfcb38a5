"""Ids of stored books: short texts, the number that the book knows and a tag that only its secret can make.

So an id that nobody handed out is refused before anything is looked up, and one that a newer state of the storage
handed out is known for what it is.
"""

import hashlib
import re
from typing import Any

import numpy as np

from sottovoce._arrays import Integers
from sottovoce.errors import UNRECORDED, UnknownAction
from sottovoce.rounds.round import PLACES

__all__ = ["TextIds"]

_PLACE = (1 << PLACES) - 1
_TAG = 6  # bytes: a guess succeeds once in 2^48
_REMEMBERED = 2**16
_LOOKS = re.compile(r"([0-9a-f]{1,16}\.){2}[0-9a-f]{12}")


class TextIds:
    """Ids as texts: incarnation, place, and a tag that only the book's secret can make.

    Parameters
    ----------
    secret
        Of the book.

    Examples
    --------
    >>> ids = TextIds(b"secret")
    >>> ids.texts(np.array([(1 << 36) + 255]))
    ['1.ff.76c8f404d1f4']
    >>> ids.numbers(ids.texts(np.array([7, 8])))
    array([7, 8])
    """

    def __init__(self, secret: bytes) -> None:
        self._keyed = hashlib.blake2b(key=secret, digest_size=_TAG)
        self._handed_out: dict[str, int] = {}  # signed here a while ago, in blocks: no need to check them

    def texts(self, ids: Integers) -> list[str]:
        """Return the texts of ids."""
        copy, texts = self._keyed.copy, []
        for one in ids.tolist():  # as `text` does it, without a call for each
            body, keyed = f"{one >> PLACES:x}.{one & _PLACE:x}", copy()
            keyed.update(body.encode())
            texts.append(f"{body}.{keyed.hexdigest()}")
        if len(self._handed_out) > _REMEMBERED:
            self._handed_out.clear()
        self._handed_out.update(zip(texts, ids.tolist(), strict=True))
        return texts

    def text(self, one: int) -> str:
        """Return the text of one id."""
        body = f"{one >> PLACES:x}.{one & _PLACE:x}"
        return f"{body}.{self._tag(body)}"

    def numbers(self, given: Any) -> Integers:
        """Return the ids of a text, or of several; refuse any that this book did not sign."""
        texts = [str(given)] if isinstance(given, str) else np.asarray(given).ravel().tolist()
        return np.array([self.number(one) for one in texts], dtype=np.int64)

    def number(self, one: Any) -> int:
        """Return the id of one text."""
        if type(one) is str:
            known = self._handed_out.pop(one, None)
            if known is not None:
                return known
            body, _, tag = one.rpartition(".")
            if tag == self._tag(body):  # signed, so there are two numbers
                incarnation, _, place = body.partition(".")
                return int(incarnation, 16) << PLACES | int(place, 16)
        raise UnknownAction(_refusal(one), UNRECORDED)

    def _tag(self, body: str) -> str:
        keyed = self._keyed.copy()
        keyed.update(body.encode(errors="surrogatepass"))
        return keyed.hexdigest()


def _refusal(one: Any) -> str:
    """Show what looks like an id; whatever else was passed by mistake (a loss?) is not shown."""
    if not isinstance(one, str):
        return f"ids are the texts that ask returned here (action.id), got something of type {type(one).__name__}"
    return (
        f"id {one!r} was not handed out here" if _LOOKS.fullmatch(one) else "the id is not one that was handed out here"
    )
