"""Restoring: a life that a backup has cut off is over, and what it had not released is dropped."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from study_tools import Look, ball, believing, curved, losses_of, path_of, sums

import sottovoce as sv
from sampling import sampled
from sottovoce.errors import StudyBehind, UnknownAction
from sottovoce.rounds.round import PLACES, TextIds


def back_up(url):
    """Return the bytes of a storage that nobody has open."""
    assert not Path(path_of(url) + "-wal").exists()
    return Path(path_of(url)).read_bytes()


def progress(opened, url, events):
    with opened(url) as study:
        block = study.ask(events)
        study.tell(block.ids, losses_of(block.ids))
        return block.ids


def test_two_restorations_of_one_backup_are_two_lives(opened, sqlite_url):
    opened(sqlite_url, **sums()).close()
    backup = back_up(sqlite_url)
    lives = []
    for _ in range(2):
        Path(path_of(sqlite_url)).write_bytes(backup)
        study = opened(sqlite_url, restored=True)
        lives.append(study.ask(12).ids)
        study.close()
    with pytest.raises((UnknownAction, StudyBehind)):  # which one depends on whose incarnation is higher
        opened(sqlite_url).tell(lives[0], losses_of(lives[0]))
    assert opened(sqlite_url).status().told == 0


@pytest.mark.parametrize(
    "arguments",
    sampled(
        [
            *(sums(), ball(), sums(horizon=None), ball(domain=sv.domains.Hypersimplex(5, 2))),
            *(believing(), curved(), believing(horizon=None), curved(domain=sv.domains.Simplex(4), horizon=None)),
        ],
        2,
    ),
)
@pytest.mark.parametrize("asked", [1, 17, 300])
def test_restored_drops_what_is_not_released_and_goes_on(asked, arguments, opened, sqlite_url):
    study = opened(sqlite_url, **arguments)
    ids = study.ask(asked).ids
    study.tell(ids[: asked - 1], losses_of(ids[: asked - 1]))
    before, point = study.status(), study.point
    study.close()
    restored = opened(sqlite_url, restored=True)
    status = restored.status()
    assert status.incarnation > 1
    assert (status.open_rounds, status.outstanding) == (0, 0)
    assert (status.asked, status.told, status.remaining) == (asked, asked - 1, before.remaining)
    assert np.array_equal(status.point, point) or status.round > before.round
    with pytest.raises(UnknownAction):
        restored.tell(ids[-1], 0.5)
    fresh = restored.ask(60)
    assert fresh.x.shape == (60, arguments["domain"].dimension)
    restored.tell(fresh.ids, losses_of(fresh.ids))
    assert restored.status().round > status.round
    after = restored.point
    restored.close()
    again = opened(sqlite_url)
    assert again.status().asked == asked + 60
    assert np.array_equal(again.point, after)


def test_an_id_that_is_behind_ends_one_life_only(opened, sqlite_url):
    """Two that notice it, one after the other: what the second life was told meanwhile stays."""
    one, other = opened(sqlite_url, **sums()), opened(sqlite_url)
    old = one.ask(5).ids
    texts = TextIds(bytes(Look(sqlite_url).counters.secret))
    future = [texts.text(1 << PLACES | 9000 + i) for i in range(2)]
    with pytest.raises(StudyBehind):
        one.tell(future[0], 0.5)
    fresh = one.ask(3).ids
    one.tell(fresh, losses_of(fresh))
    with pytest.raises(UnknownAction):
        other.tell(future[1], 0.5)
    with pytest.raises(UnknownAction):
        other.tell(old[0], 0.5)
    assert other.status().incarnation > 1
    assert len(Look(sqlite_url).told()) == 3


def test_a_copy_of_the_file_works_and_is_the_users_responsibility(opened, sqlite_url, tmp_path):
    """Nothing inside a copied file says that it is one: that is what restored=True is for."""
    opened(sqlite_url, **sums()).close()
    progress(opened, sqlite_url, 17)
    other = f"sqlite:///{tmp_path / 'copy.db'}"
    shutil.copy(path_of(sqlite_url), path_of(other))
    assert opened(other, restored=True).status().incarnation > 1
    assert opened(sqlite_url).status().incarnation == 1
