"""Makes `version_1.json`: a storage of schema version 1, as the code of that version wrote it.

Run with that code, the last before version 2: `python make_version_1.py sqlite:///new.db > version_1.json`.
Two studies, with closed and open rounds, losses told and forgotten; and what that code did next with a copy of them.
"""

import json
import shutil
import sqlite3
import sys

import numpy as np
from sqlalchemy import create_engine
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable
from study_tools import Look, ball, losses_of, path_of, sums

import sottovoce as sv
from sottovoce.studies.database import tables


def make(url):
    """Leave every kind of row behind: rounds of 12 events, of which some are closed, full, half asked and half told."""
    with sv.Study.open(url, name="spring", seed=3, **sums()) as study:
        for _ in range(3):
            block = study.ask(17)
            study.tell(block.ids, losses_of(block.ids))
        block = study.ask(30)
        study.tell(block.ids[::2], losses_of(block.ids[::2]))
        study.forget(block.ids[1:4:2])
    options = ball(privacy=sv.PureDP(1.0), horizon=None, domain=sv.domains.Ball(3))
    with sv.Study.open(url, name="autumn", seed=4, deadline=1e10, **options) as study:
        block = study.ask(27)
        study.tell(block.ids[:20], losses_of(block.ids[:20]))


def go_on(url):
    """Do what follows from the storage alone: the noise of a private round does not."""
    found = {}
    with sv.Study.open(url, name="spring") as study:
        found["spring"] = {"status": plain(study), "x": [], "points": []}
        for turn in range(4):
            block = study.ask(15)
            found["spring"]["x"].append(block.x.tolist())
            if turn == 1:  # what was left outstanding, the newest first
                waiting = outstanding(study)[::-1]
                study.tell(waiting, losses_of(waiting))
            elif turn > 1:
                study.tell(block.ids, losses_of(block.ids))
            found["spring"]["points"].append(study.point.tolist())
        found["spring"]["rounds"] = study.round
    with sv.Study.open(url, name="autumn") as study:
        found["autumn"] = {"status": plain(study), "x": [study.ask(15).x.tolist()], "points": [study.point.tolist()]}
        found["autumn"]["rounds"] = study.round
    return found


def plain(study):
    status = study.status().to_dict()
    return {name: status[name] for name in ("generation", "round", "asked", "told", "forgotten", "outstanding")}


def outstanding(study):
    from killing import outstanding

    return outstanding(study)


def dumped(url):
    """Return statements that make the tables, and all rows; bytes in hexadecimal digits."""
    made = {}
    for dialect in (sqlite.dialect(), postgresql.dialect()):
        statements = [str(CreateTable(table).compile(dialect=dialect)) for table in tables.metadata.sorted_tables]
        statements += [
            str(CreateIndex(one).compile(dialect=dialect)) for one in sorted(tables.tells.indexes, key=lambda i: i.name)
        ]
        made[dialect.name] = [" ".join(one.split()) for one in statements]
    engine = create_engine(url)
    with engine.connect() as connection:
        rows = {
            table.name: [
                {name: {"hex": value.hex()} if isinstance(value, bytes) else value for name, value in row.items()}
                for row in connection.execute(table.select()).mappings()
            ]
            for table in tables.metadata.sorted_tables
        }
    engine.dispose()
    return {"tables": made, "rows": rows}


def told(url):
    return {
        name: [[*where, value] for where, value in sorted(Look(url, name).told().items())]
        for name in ("spring", "autumn")
    }


if __name__ == "__main__":
    where = sys.argv[1]
    make(where)
    with sqlite3.connect(path_of(where)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    contents = {**dumped(where), "told": told(where)}
    shutil.copy(path_of(where), path_of(where) + ".copy")
    contents["then"] = go_on(where + ".copy")
    assert np.isfinite(contents["then"]["spring"]["points"]).all()
    json.dump(contents, sys.stdout, indent=1)
