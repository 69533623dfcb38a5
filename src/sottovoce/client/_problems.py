"""Problem documents (RFC 9457) become the library's errors again, with the same words."""

from typing import Any

from sottovoce import errors

_BY_NAME = {name.lower(): getattr(errors, name) for name in errors.__all__ if not name.startswith("Service")}
_LONGEST = 2000  # characters of somebody else's words


class _WrongValue(errors.ServiceError, ValueError):
    """What the library refuses as a value."""


class _WrongType(errors.ServiceError, TypeError):
    """What the library refuses as a type, or for want of an argument."""


_PLAIN = {"ValueError": _WrongValue, "TypeError": _WrongType}


def kind_of(document: Any) -> str:
    """Return the kind of a problem document; empty if it is none.

    Examples
    --------
    >>> kind_of({"type": "/problems/round-closed"}), kind_of({"type": "about:blank"}), kind_of("no")
    ('round-closed', '', '')
    """
    given = document.get("type") if isinstance(document, dict) else None
    _, mark, kind = given.rpartition("/problems/") if isinstance(given, str) else ("", "", "")
    return kind if mark and kind.replace("-", "").isalnum() and kind.isascii() else ""


def error_from(status: int, document: Any) -> errors.SottovoceError:
    """Return the error that an answer means; one that the library does not have is a `ServiceError`."""
    kind = kind_of(document)
    if not kind:
        return errors.ServiceError(
            f"what answered with status {status} is no sottovoce service, or something in between answered for it: "
            "check the address",
            status=status,
        )
    words = next((one for one in (document.get("detail"), document.get("title")) if isinstance(one, str) and one), kind)
    known: type[errors.SottovoceError] | None = _BY_NAME.get(kind.replace("-", ""))
    if known is not None:
        return known(words[:_LONGEST])
    return _PLAIN.get(str(document.get("error")), errors.ServiceError)(words[:_LONGEST], kind, status)
