"""Problem documents (RFC 9457) become the library's errors again, with the same words."""

from typing import Any

from sottovoce import errors

__all__ = ["REFUSED_FOR_GOOD", "error_from", "kind_of"]

_LIBRARY: dict[str, type[errors.SottovoceError]] = {
    "unknown-action": errors.UnknownAction,
    "unknown-segment": errors.UnknownSegment,
    "already-told": errors.AlreadyTold,
    "round-closed": errors.RoundClosed,
    "invalid-loss": errors.InvalidLoss,
    "wrong-report": errors.WrongReport,
    "horizon-reached": errors.HorizonReached,
    "not-released": errors.NotReleased,
    "study-not-found": errors.StudyNotFound,
    "configuration-mismatch": errors.ConfigurationMismatch,
    "storage-error": errors.StorageError,
    "study-behind": errors.StudyBehind,
    "study-damaged": errors.StudyDamaged,
    "state-refused": errors.StateRefused,
    "ledger-exceeded": errors.LedgerExceeded,
    "ledger-conflict": errors.LedgerConflict,
}
_LONGEST = 2000  # characters of somebody else's words

REFUSED_FOR_GOOD = (
    "unknown-action",
    "already-told",
    "round-closed",
    "invalid-loss",
    "wrong-report",
    "malformed",
    "too-large",
)
"""Kinds of refusals of a tell that repeating it, however often, would not change."""


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
    known = _LIBRARY.get(kind)
    if known is None:
        return errors.ServiceError(words[:_LONGEST], kind, status)
    return known(words[:_LONGEST])
