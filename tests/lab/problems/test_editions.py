"""Editions: the best page of each segment, how much segments differ, and what is known of them."""

import itertools

import numpy as np
import pytest

import sottovoce as sv
from lab_losses import losses_of
from sampling import every
from sottovoce.lab.problems import Editions
from sottovoce.lab.problems.editions import Audiences

SMALL = {"items": 7, "slots": 3, "segments": 5}
HORIZON = 6000


def of_segment(world, name, horizon):
    """Which events are of a segment, asked of the environment event by event."""
    return np.array([one == name for one in world.segments_of(0, horizon)])


@every("seed", [0, 1])
def test_the_best_page_of_a_segment_is_the_best_of_all_pages(seed):
    problem = Editions(**SMALL, differ=0.6, seed=seed)
    world = problem.environment
    pages = [np.isin(np.arange(7), chosen).astype(float) for chosen in itertools.combinations(range(7), 3)]
    best = world.comparators(HORIZON)
    assert list(best) == list(world.segments.names)
    for name, one in best.items():
        mine = of_segment(world, name, HORIZON)
        each = [losses_of(world, 0, HORIZON)(page)[mine].mean() for page in pages]
        reached = losses_of(world, 0, HORIZON)(one.point)[mine].mean()
        assert reached == pytest.approx(min(each), abs=1e-12)
        assert one.certificate == pytest.approx(0.0, abs=1e-12)


def test_a_segment_without_events_has_no_best_page():
    world = Editions(segments=40, power=3.0).environment
    met = set(world.segments_of(0, 50))
    assert set(world.comparators(50)) == met
    assert len(met) < 40


def test_identical_segments_are_the_same_to_the_last_person_and_others_are_not():
    same, moderate, unrelated = (Editions(differ=one, seed=3).environment for one in (0.0, 0.2, 1.0))
    people = same.library.costs.reshape(20, same.people, -1)
    assert (people == people[0]).all()
    apart = [np.corrcoef(np.log(one.click_rates / (1 - one.click_rates))) for one in (same, moderate, unrelated)]
    likeness = [one[np.triu_indices(20, 1)].mean() for one in apart]
    assert likeness[0] == pytest.approx(1.0)
    assert 0.6 < likeness[1] < 0.95
    assert abs(likeness[2]) < 0.15


def test_segments_that_share_a_level_or_an_hour_are_more_alike():
    shops = {"device": ["phone", "desktop", "tablet", "watch"], "country": ["it", "de", "fr", "es", "nl"]}
    pages = sv.domains.Hypersimplex(200, 5)
    world = Audiences(pages, sv.Segments(factors=shops), differ=1.0, seed=1)
    logits = np.log(world.click_rates / (1 - world.click_rates))
    alike = np.corrcoef(logits)
    names = world.segments.names
    pairs = list(itertools.combinations(range(len(names)), 2))
    shared = [sum(a == b for a, b in zip(names[i], names[j], strict=True)) for i, j in pairs]
    by_shared = [
        np.mean([alike[pair] for pair, count in zip(pairs, shared, strict=True) if count == n]) for n in (0, 1)
    ]
    assert by_shared[1] > by_shared[0] + 0.2
    angles = np.arange(24) * 2 * np.pi / 24
    hour = sv.Segments([f"{one:02d}:00" for one in range(24)], features=np.stack([np.sin(angles), np.cos(angles)], 1))
    hours = Audiences(pages, hour, differ=1.0, seed=1)
    alike = np.corrcoef(np.log(hours.click_rates / (1 - hours.click_rates)))
    assert alike[0, 23] > alike[0, 12] + 0.5  # midnight is next to eleven


def test_sizes_follow_a_power_law_and_every_event_is_of_the_segment_of_its_loss():
    world = Editions(segments=8, seed=2).environment
    counts = np.bincount(world.places(0, 40_000))
    expected = 40_000 / np.arange(1, 9) / (1 / np.arange(1, 9)).sum()
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()  # false alarms: one in 10^5
    np.testing.assert_array_equal(world.places(500, 9000), world.kinds(500, 9000) // world.people)
