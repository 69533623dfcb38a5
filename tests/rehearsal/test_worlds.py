"""Worlds to rehearse in: what is drawn has the mean and the variance it should, and the best decision is the best."""

from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from sottovoce.plans.problem import Problem
from sottovoce.rehearsal._worlds import worlds_of

SETS = (sv.domains.Hypersimplex(8, 3), sv.domains.Ball(4), sv.domains.Birkhoff(3))
KINDS = ("linear", "convex")


def worlds(domain, seed=5, count=4, contrast=0.2, scatter=0.3, losses="linear", **facts):
    problem = Problem(domain, 1000, (0.0, 1.0), sv.NoPrivacy(), losses=losses, **facts)
    return worlds_of(problem, seed, count, contrast, scatter)


@pytest.fixture(params=[(name, domain) for name in KINDS for domain in SETS], ids=str)
def made(request):
    name, domain = request.param
    return domain, worlds(domain, losses=name)


def decisions(domain, rng, count=200):
    """Vertices and points between them."""
    vertices = np.stack([domain.extreme_point(rng.standard_normal(domain.dimension)) for _ in range(count)])
    return np.concatenate([vertices, (vertices + vertices[::-1]) / 2, domain.middle[None]])


def test_no_decision_is_better_than_the_best_and_the_middle_is_never_learning(made):
    domain, found = made
    points = decisions(domain, np.random.default_rng(0))
    for world in found:
        means = world.mean(points)
        assert means.min() >= world.best([1])[0] - 0.01
        assert means[-1] == pytest.approx(world.middle, abs=0.01)


def test_what_is_seen_lies_in_the_range_and_has_the_mean_and_the_variance(made):
    domain, found = made
    rng = np.random.default_rng(1)
    for world in found:
        for point in decisions(domain, rng, 3):
            rows = np.repeat(point[None], 20_000, axis=0)
            mean, played = world.mean(rows), replace(world, lots=rng)
            seen = played.losses(0, rows)
            assert played.lost == pytest.approx(mean.sum())
            assert seen.min() >= -1e-12
            assert seen.max() <= 1 + 1e-12
            variance = min(world.variance, mean[0] * (1 - mean[0]))
            assert seen.mean() == pytest.approx(mean[0], abs=5 * (variance / 20_000) ** 0.5 + 1e-9)
            assert seen.var() == pytest.approx(variance, rel=0.1, abs=1e-9)


@every("kind", KINDS)
@every("contrast", [0.05, 0.2])
def test_contrast_and_scatter_are_what_was_asked_for(kind, contrast):
    for domain in SETS:
        for world in worlds(domain, 5, 4, contrast, 0.07, losses=kind):
            assert world.contrast == pytest.approx(contrast, rel=1e-6)
            assert world.variance == pytest.approx(0.07**2)


def test_costs_follow_features():
    """Coordinates of like features cost alike: most of what costs differ by is a linear function of these."""
    rng = np.random.default_rng(2)
    features = rng.standard_normal((200, 3))
    domain = sv.domains.Hypersimplex(200, 20)
    world = worlds(domain, 5, 1, features=features)[0]
    costs = world.mean(np.eye(200) * 0.2)  # small, so that nothing is clipped
    fit = features @ np.linalg.lstsq(features, costs - costs.mean(), rcond=None)[0]
    assert np.corrcoef(fit, costs)[0, 1] ** 2 > 0.5


@every("domain", [sv.domains.Box(0.0, 1.0, 6), sv.domains.Box(-1.0, 1.0, 6)])
def test_where_nothing_may_be_chosen_that_is_not_always_best(domain):
    """Costs alone would have nothing chosen, whatever they are, and there would be nothing to learn."""
    bests = []
    for seed in range(4):
        world = worlds(domain, seed, 1)[0]
        vertices = decisions(domain, np.random.default_rng(seed))
        best = vertices[world.mean(vertices).argmin()]
        assert best.max() > 0
        bests.append(best.round(6).tolist())
    assert bests[0] not in bests[1:]
