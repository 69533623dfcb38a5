"""Studies that are deleted, called otherwise, or moved to another storage, open rounds and all."""

from contextlib import closing

from sottovoce.errors import StudyNotFound
from sottovoce.rounds.stored import book_name, refuse_kind
from sottovoce.rounds.stores.sql import moving
from sottovoce.rounds.stores.sql.books import ARRIVING, MOVED, MOVING, prepare
from sottovoce.rounds.stores.sql.database import Database, open_database
from sottovoce.rounds.stores.sql.moving import Whereabouts
from sottovoce.studies.opening import not_found

_STUDY = "study"


def delete_study(url: str, name: str) -> None:
    """Delete a study with everything that is stored of it: losses of open rounds are never released.

    What it has released stays spent, and its charge stays in its ledger. Also for what is left of a study that was
    moved away, and for a copy that never arrived.

    Parameters
    ----------
    url, name
        As for `Study.open`.
    """
    with closing(open_database(url, create=False)) as base:
        found = _located(base, name)
        if found.kind == MOVING or (found.kind == MOVED and not found.note["done"]):
            raise ValueError(f"name={name!r} is being moved: finish that, or take it back, and delete it then")
        moving.delete(base, name)


def rename_study(url: str, name: str, to: str) -> None:
    """Call a study otherwise. Whoever has it open goes on; keys of a service are for names, and are to be made anew.

    Parameters
    ----------
    url, name
        As for `Study.open`.
    to
        Its new name.
    """
    book_name(to)
    with closing(open_database(url, create=False)) as base:
        if _located(base, name).kind != _STUDY:
            raise ValueError(f"name={name!r} is being moved, or was: rename it where it is then")
        moving.rename(base, name, to)


def move_study(url: str, name: str, to: str) -> None:
    """Move a study to another storage, open rounds and all: ids that were handed out are good there, and only there.

    It is sealed first: whoever has it open is refused from then on. Then it is copied, deleted where it was, and can be
    opened where it is now. If that is cut short, nobody can open it anywhere: call this again with the same arguments,
    and it goes on; or with `to` equal to `url`, and it stays where it was, unless it has left already.

    Parameters
    ----------
    url, name
        As for `Study.open`.
    to
        The other storage, which need not exist.

    Examples
    --------
    >>> import sottovoce as sv
    >>> import tempfile, pathlib
    >>> here, there = (f"sqlite:///{pathlib.Path(tempfile.mkdtemp()) / 'slates.db'}" for _ in range(2))
    >>> options = {"domain": sv.domains.Simplex(5), "horizon": 1000, "loss_range": (0.0, 1.0)}
    >>> with sv.Study.open(here, name="spring", privacy=sv.PureDP(1.0), **options) as study:
    ...     action = study.ask()
    >>> move_study(here, "spring", there)
    >>> with sv.Study.open(there, name="spring") as study:
    ...     study.tell(action.id, 0.25)
    ...     study.status().told
    1
    """
    with closing(open_database(url, create=False)) as source:
        found = _located(source, name)
        if to == url:
            _take_back(source, name, found)
            return
        with closing(open_database(to)) as target:
            prepare(target)
            _move(source, name, found, target)


def _move(source: Database, name: str, found: Whereabouts, target: Database) -> None:
    if found.kind == ARRIVING:
        raise StudyNotFound(f"name={name!r} is on its way to {source.name}: finish that first")
    if found.kind == _STUDY:
        _refuse_taken(name, found, target)
        moving.seal(source, name, _STUDY)
    if found.kind != MOVED:
        moving.leave(source, name, target, moving.copy_to(source, name, target))
    left = _located(source, name)
    if left.note["to"] != target.name:
        raise StudyNotFound(f"name={name!r} was moved to {left.note['to']}, and not to {target.name}")
    moving.activate(target, name, left.note["arrival"], _STUDY)
    moving.note_done(source, name, left.note["arrival"])
    source.erase()


def _refuse_taken(name: str, found: Whereabouts, target: Database) -> None:
    """Refuse, before anything is sealed, a storage in which the name is taken."""
    there = moving.locate(target, name)
    if there is not None and not moving.is_left_of(found, there):
        raise ValueError(
            f"to={target.name!r} has a study called {name!r}, or what is left of one: rename or delete it there"
        )


def _take_back(source: Database, name: str, found: Whereabouts) -> None:
    if found.kind == MOVED:
        raise ValueError(f"name={name!r} has left for {found.note['to']}: move it back from there")
    if not moving.take_back(source, name, _STUDY) and found.kind != _STUDY:
        raise StudyNotFound(f"name={name!r} is on its way to {source.name}: finish that first")


def _located(base: Database, name: str) -> Whereabouts:
    prepare(base)
    found = moving.locate(base, book_name(name))
    if found is None:
        raise not_found(base, name, "")
    if found.kind not in (MOVING, MOVED, ARRIVING):
        refuse_kind(found.kind, _STUDY, name)
    return found
