"""Nothing that a study says, logs or raises holds a loss."""

import logging
import struct
import warnings

import numpy as np
import pytest
from study_tools import Look, sums

import sottovoce as sv
from shown import shows
from storages import outside

LOSS = 0.83172607421875  # exact on the grid, so that its integer is known
INTEGER = int(LOSS * 2**18)
TRACES = [
    str(LOSS),
    str(INTEGER),
    f"{INTEGER:x}",
    repr(struct.pack("<q", INTEGER))[2:-1],
    repr(struct.pack(">i", INTEGER))[2:-1],  # as it is stored
    repr(struct.pack("<d", LOSS))[2:-1],
]


@pytest.fixture
def records():
    """Return what is logged by anybody, at every level."""
    found = []

    class Keeper(logging.Handler):
        def emit(self, record):
            found.append(f"{record.getMessage()} {record.args!r} {record.exc_info!r}")

    keeper, before = Keeper(), {}
    names = [None, "psycopg", "sottovoce"]
    for name in names:
        logger = logging.getLogger(name)
        before[name] = logger.level
        logger.setLevel(logging.DEBUG)
    logging.getLogger().addHandler(keeper)
    yield found
    logging.getLogger().removeHandler(keeper)
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)


def test_nothing_that_is_logged_warned_of_or_printed_holds_a_loss(opened, url, records, capsys):
    logging.getLogger("sottovoce").debug("somebody listens")
    assert len(records) == 1
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        study, other = opened(url, repeat="ignore", **sums(privacy=sv.PureDP(1.0))), opened(url)
        ids = study.ask(20).ids
        study.tell(ids[:7], np.full(7, LOSS))
        assert other.status().told == 7  # reads them
        opened(url)
        store = study._store
        shown = [store, store.open_rounds(), vars(store), study, study.status(), study.outstanding(), study.privacy]
        words = [str(one) + repr(one) for one in shown]
        study.tell(ids[7], LOSS)
        study.tell(ids[8:], np.full(12, LOSS))
        assert study.status().round == 1
        for bad in ([LOSS, np.nan], ["x", LOSS]):
            with pytest.raises(sv.errors.InvalidLoss):
                study.tell(study.ask(2).ids, bad)
    out = capsys.readouterr()
    said = "\n".join([*records, *words, *(str(one.message) for one in warned), out.out, out.err])
    assert not [one for one in TRACES if one in said]


def test_a_failing_statement_says_nothing_of_its_parameters(opened, url):
    """A driver's error quotes what it was given: it must not come through, not even as a cause."""
    study = opened(url, **sums())
    ids = study.ask(5).ids
    outside(url, "ALTER TABLE sottovoce_chunks RENAME TO elsewhere")
    for call in (lambda: study.tell(ids, np.full(5, LOSS)), lambda: study.tell(ids[0], LOSS)):
        with pytest.raises(sv.errors.StorageError) as refused:
            call()
        assert refused.value.__cause__ is None
        assert refused.value.__context__ is None
        assert not shows(refused.value, *TRACES)
    outside(url, "ALTER TABLE elsewhere RENAME TO sottovoce_chunks")
    study.tell(ids, np.full(5, LOSS))
    assert set(Look(url).told().values()) == {INTEGER}
