"""Bounds: they hold in simulation, and their parts are what they say.

A bound that one run breaks is no bound. Seeds are fixed; energies are compared within 6 standard errors.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from optimizers import bandit
from sampling import every, sampled
from sottovoce.plans import frames, sphere
from sottovoce.plans.frames import Frames
from sottovoce.plans.placement import Placement
from sottovoce.plans.problem import Problem
from sottovoce.plans.sphere import SphereDraft, SphereOptions, Spheres


@every("factor", [0.5, 0.9, 1.1, 2.0])
@every("mechanism", [sphere.TREE, replace(sphere.TREE, releases="rounds")])
def test_the_best_step_is_the_best(mechanism, factor):
    problem = Problem(sv.domains.Ball(3), 10_000, (0.0, 1.0), sv.PureDP(1.0))
    draft = SphereDraft(problem, problem.placement("plain"), SphereOptions(0.1), 100, mechanism, delay=1)
    best, noise = draft.best_step(3.0), 3.0
    assert replace(draft, step=best).bound_at(noise) < replace(draft, step=factor * best).bound_at(noise)


def test_a_single_dimension_has_no_infinite_energy():
    parts = {"scale": 100.0, "deviation": 0.0, "lipschitz": 1.0, "noise": 0.0}
    assert frames.round_energy(100, 1, 1, **parts) == pytest.approx((100 * 1.0) ** 2)


def energies(explorer, chance, rng, rounds, noise=0.0):
    """Squared norms of the estimates of rounds of losses 0 or 1, which are 1 with chance(action)."""
    found = []
    for _ in range(rounds):
        exploration = explorer.begin(explorer.placement.working.center, 0, explorer.batch_size, rng)
        draw = exploration.draw(rng, 0, explorer.batch_size)
        sums = draw.weights.sum((rng.random(explorer.batch_size) < chance(draw.actions)).astype(np.int64))
        if noise:
            sums = sums + rng.laplace(0.0, noise / math.sqrt(2), len(sums))
        gradient = exploration.estimate(sums, draw.weights.total().astype(float))
        found.append(gradient @ gradient)
    return np.array(found)


@every("domain", [sv.domains.Ball(4), sv.domains.Simplex(5)])
@every("noise", [0.0, 3.0])
def test_energies_of_spheres_and_frames(domain, noise):
    """Losses 0 or 1, on average 1/2 at the centre, with the largest slope that small radii allow."""
    rng, placement, radius, size = np.random.default_rng(0), Placement(domain), 0.5 * domain.inner_radius, 12
    slope = domain.tangent(np.eye(domain.dimension)[0])
    slope *= 0.2 / radius / np.linalg.norm(slope)

    def chance(actions):
        return 0.5 + (actions - domain.center) @ slope

    parts = {"scale": domain.affine_dimension / radius, "deviation": 0.5, "lipschitz": np.linalg.norm(slope)}
    found = energies(Frames(placement, radius, size, directions=2, middle=0.5), chance, rng, 1500, noise)
    bound = frames.round_energy(size, 2, 4, **parts, noise=noise)
    assert found.mean() - 6 * found.std() / math.sqrt(1500) <= bound <= 1.5 * found.mean()
    if not noise:
        grid = {"quantise": lambda u: np.rint(u * 2**20).astype(np.int64), "step": 2.0**-20}
        spheres = Spheres(placement, radius, size, middle=0.5, **grid)
        found = energies(spheres, chance, rng, 1500)
        bound = sphere.round_energy(size, **parts)
        assert found.mean() - 6 * found.std() / math.sqrt(1500) <= bound <= 1.5 * found.mean()


def sequences(domain, horizon):
    """Costs of every event, between -1 and 1 apart on the set: steady, turned round after a third, and swinging."""
    steady = np.linspace(0.0, 1.0, domain.dimension)
    steady /= float(steady @ domain.extreme_point(-steady) - steady @ domain.extreme_point(steady))
    time = np.arange(horizon)[:, None] / horizon
    turns = {
        "steady": 1.0 + 0 * time,
        "turning": np.where(time < 1 / 3, 1.0, -1.0),
        "swinging": np.sin(5 * np.pi * time),
    }
    return {name: turn * steady for name, turn in turns.items()}


def regret_of(optimizer, costs, rng, alternating):
    """Regret against the best fixed point, with losses 0 or 1 by lot around 1/2, or with levels that alternate."""
    center = optimizer.domain.center
    levels = np.where(np.arange(len(costs)) % 2, 0.25, -0.25) if alternating else np.zeros(len(costs))
    lost = 0.0
    while optimizer.remaining:
        actions = optimizer.ask_round(4096)
        values = np.einsum("ij,ij->i", actions.x - center, costs[actions.ids])
        lost += values.sum()
        chances = 0.5 + 0.5 * values + levels[actions.ids]
        told = np.clip(chances, 0, 1) if alternating else rng.random(len(values)) < chances
        optimizer.tell(actions.ids, told.astype(float))
    total = costs.sum(axis=0)
    return 0.5 * (lost - float(total @ (optimizer.domain.extreme_point(total) - center)))


RUNS = {
    "sphere, tree": {"exploration": "sphere", "mechanism": "tree"},
    "sphere, fresh": {"exploration": "sphere", "mechanism": "fresh"},
    "frames": {"exploration": "frames"},
    "frames, rounded": {"exploration": "frames", "position": "rounded"},
    "designs": {"exploration": "designs", "losses": "linear"},
    "designs, integral": {"exploration": "designs", "losses": "linear", "integral": True},
}


@pytest.mark.parametrize("choices", sampled(RUNS.values(), 2, RUNS))
@pytest.mark.parametrize("privacy", sampled([sv.NoPrivacy(), sv.PureDP(1.0)], {"private"}, ["free", "private"]))
@pytest.mark.parametrize("alternating", [False, True], ids=["by lot", "alternating"])
def test_no_run_breaks_its_bound(choices, privacy, alternating):
    domain, horizon, rng = sv.domains.Hypersimplex(4, 2), 2_000, np.random.default_rng(1)
    for name, costs in sequences(domain, horizon).items():
        optimizer = bandit(domain, horizon, privacy=privacy, **choices)
        assert regret_of(optimizer, costs, rng, alternating) <= optimizer.plan.bound, name
