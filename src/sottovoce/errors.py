"""Errors that a caller may want to catch by name.

No message ever holds a loss: an exception text travels to logs, and logs are not protected.
"""

UNRECORDED = "nothing of this call was recorded"
"""What follows from a refusal, for the caller of that one call."""


class SottovoceError(Exception):
    """Base of every error that this library defines."""


class RefusedCall(SottovoceError):
    """A call that was refused as a whole.

    `fact` is why; what holds for that one call only (that nothing of it was recorded, say) follows it in the message.

    Parameters
    ----------
    fact
        Why.
    consequence
        What holds for this call only.
    """

    def __init__(self, fact: str, consequence: str = "") -> None:
        super().__init__(f"{fact}; {consequence}" if consequence else fact)
        self.fact = fact


class DomainError(SottovoceError, ValueError):
    """A feasible set that is empty, or an oracle that breaks its promise."""


class HorizonReached(SottovoceError, RuntimeError):
    """More actions were asked for than the horizon holds."""


class UnknownAction(RefusedCall, LookupError):
    """An id that was never handed out, or whose round is closed."""


class UnknownSegment(RefusedCall, LookupError):
    """A segment that is not among those that were named, or one too many."""


class AlreadyTold(RefusedCall, ValueError):
    """A second loss for one action."""


class InvalidLoss(SottovoceError, ValueError):
    """A loss that is not a finite number. The value is not in the message, on purpose."""


class WrongReport(SottovoceError, TypeError):
    """A loss where local privacy wants a report, or a report where it does not."""


class CopyRefused(SottovoceError, TypeError):
    """Copying or pickling would let the same losses be released under two noises."""


class ForkRefused(SottovoceError, RuntimeError):
    """Used in a forked child: parent and child would release the same losses under two noises."""


class RoundClosed(RefusedCall, ValueError):
    """A loss for a round that was closed without it."""


class NotReleased(SottovoceError, RuntimeError):
    """A mean that was read before its evaluation was closed; the message says what is missing."""


class ConfigurationMismatch(SottovoceError, ValueError):
    """What was passed is not what is stored; the message lists the differences."""


class StateRefused(SottovoceError, ValueError):
    """A state that cannot be taken or taken up: a mechanism with secrets, a damaged record, another version."""


class StudyNotFound(SottovoceError, LookupError):
    """No study of that name where it was looked for. `fact` is the message without what to do about it in Python.

    Parameters
    ----------
    fact
        Which study, and where it was looked for.
    advice
        What to do about it in Python.
    """

    def __init__(self, fact: str, advice: str = "") -> None:
        super().__init__(f"{fact}; {advice}" if advice else fact)
        self.fact = fact


class StudyBehind(SottovoceError, RuntimeError):
    """The storage is older than an action that it once handed out: it was restored, or lost its latest changes."""


class StudyDamaged(SottovoceError, RuntimeError):
    """Stored data that fail their checksum or contradict each other."""


class StorageError(SottovoceError, OSError):
    """The storage could not be read or written: full, locked, read-only, gone."""


class ServiceAway(StorageError):
    """A service could not be reached, or was too busy; whether it has recorded a call that it did not answer is open.

    Every call of a client can be repeated: nothing is counted twice.
    """


class ServiceError(SottovoceError, RuntimeError):
    """A service has refused a call for a reason of its own, a key that it does not know above all.

    Parameters
    ----------
    words
        What it said.
    kind
        The kind of its problem document, such as "forbidden"; empty if it sent none.
    status
        The HTTP status.
    """

    def __init__(self, words: str, kind: str = "", status: int = 0) -> None:
        super().__init__(words)
        self.kind, self.status = kind, status


class SweepStopped(SottovoceError, RuntimeError):
    """What ran the cells of a sweep went away; those that are finished are kept, and the sweep can be continued."""


class MissingExtra(SottovoceError, ImportError):
    """A package that is not installed; the message says which extra brings it, and how."""


class LedgerExceeded(SottovoceError, RuntimeError):
    """A charge that the privacy budget of a ledger cannot pay for."""


class LedgerConflict(SottovoceError, ValueError):
    """A charge that contradicts what a ledger has on record."""


__all__ = [name for name, one in list(globals().items()) if isinstance(one, type)]
