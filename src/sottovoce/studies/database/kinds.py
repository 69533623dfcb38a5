"""What a storage holds under a name: a study, or evaluations. Names are shared, so that none is taken for the other.

Segments of studies have heads as well, under names that nobody can type.
"""

from sottovoce.errors import ConfigurationMismatch
from sottovoce.exploration import Record

__all__ = ["EVALUATIONS", "SEGMENT", "STUDY", "is_study", "name_of_segment", "refuse_other_kind"]

STUDY, EVALUATIONS, SEGMENT = "sottovoce study", "sottovoce evaluations", "sottovoce segment"

_OTHERWISE = {
    STUDY: "name={name!r} is taken by evaluations: open them with sv.open_evaluations, or choose another name",
    EVALUATIONS: "name={name!r} is taken by a study: open it with sv.Study.open, or choose another name",
}


def is_study(record: Record) -> bool:
    """Whether a stored configuration is that of a study, as far as it says."""
    return record.get("format") not in (EVALUATIONS, SEGMENT)


def name_of_segment(parent: int, number: int) -> str:
    """Return the name of a segment's head: no name of a study has such a letter in it."""
    return f"\x1f{parent}\x1f{number}"


def refuse_other_kind(record: Record, kind: str, name: str) -> None:
    """Refuse to take one kind for the other.

    Examples
    --------
    >>> refuse_other_kind({"format": STUDY}, STUDY, "spring")
    >>> refuse_other_kind({"format": EVALUATIONS}, STUDY, "spring")
    Traceback (most recent call last):
        ...
    sottovoce.errors.ConfigurationMismatch: name='spring' is taken by evaluations: open them with sv.open_evaluations, \
or choose another name
    """
    if is_study(record) != (kind == STUDY):
        raise ConfigurationMismatch(_OTHERWISE[kind].format(name=name))
