"""Bounds: they hold in simulation, and their parts are what they say.

A bound that one run breaks is no bound. Seeds are fixed; energies are compared within 6 standard errors.
"""

import dataclasses
import math

import numpy as np
import pytest

import sottovoce as sv
from optimizers import bandit
from sampling import every, sampled
from sottovoce.plans.designs import DesignBound
from sottovoce.plans.frames import FrameBound, Frames
from sottovoce.plans.placement import Placement
from sottovoce.plans.sphere import SphereBound, Spheres

COMMON = {"events": 10_000, "batch_size": 100, "outer_radius": 1.0, "loss_deviation": 0.5, "lipschitz": 1.0}
COMMON |= {"point_error": 0.01, "smoothing": 0.1}
SPHERE = SphereBound(**COMMON, estimate_scale=10.0, sum_noise=3.0, delay=1)
FRAME = FrameBound(**COMMON, directions=5, dimension=10, estimate_scale=100.0, number_noise=1.0, delay=0)
READ = {"events": 10**6, "rate": 0.05, "probe_events": 10, "dimension": 16, "outer_radius": 4.0, "loss_deviation": 0.5}
DESIGN = DesignBound(**READ, spread=0.5, width=1.0, number_noise=1.0, step_multiplier=1.0, point_error=0.01)


def worth(bound):
    return bound.value(bound.best_step()) if isinstance(bound, SphereBound) else bound.value()


class TestParts:
    @every("factor", [0.5, 0.9, 1.1, 2.0])
    def test_the_best_step_is_the_best(self, factor):
        assert SPHERE.value(SPHERE.best_step()) < SPHERE.value(factor * SPHERE.best_step())

    def test_what_is_harder_costs_more(self):
        for bound, names in (
            (SPHERE, "outer_radius lipschitz sum_noise delay point_error smoothing"),
            (FRAME, "outer_radius loss_deviation number_noise point_error smoothing"),
            (DESIGN, "dimension loss_deviation spread number_noise step_multiplier"),
        ):
            for name in names.split():
                assert worth(dataclasses.replace(bound, **{name: 2 * getattr(bound, name)})) > worth(bound), name

    @every("bound", [SPHERE, FRAME, DESIGN])
    def test_without_smoothing_and_errors_the_cost_grows_as_the_root_of_the_horizon(self, bound):
        """Designs pay for exploring besides, in proportion to the horizon."""
        free = dataclasses.replace(bound, point_error=0.0)
        free = dataclasses.replace(free, **({"width": 0.0} if bound is DESIGN else {"smoothing": 0.0}))
        if bound is SPHERE:
            free = dataclasses.replace(free, sum_noise=0.0, delay=0)
        assert worth(dataclasses.replace(free, events=4 * bound.events)) == pytest.approx(2 * worth(free))

    def test_exploring_more_costs_more_in_one_way_and_less_in_the_other(self):
        rates = np.geomspace(1e-3, 0.5, 40)
        values = [dataclasses.replace(DESIGN, rate=rate).value() for rate in rates]
        assert 0 < int(np.argmin(values)) < 39

    def test_a_single_dimension_has_no_infinite_energy(self):
        line = dataclasses.replace(FRAME, dimension=1, directions=1, number_noise=0.0, loss_deviation=0.0)
        assert line.energy == pytest.approx((100 * 1.0) ** 2)


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

    common = {
        "batch_size": size,
        "estimate_scale": domain.affine_dimension / radius,
        "lipschitz": np.linalg.norm(slope),
    }
    frames = Frames(placement, radius, 2, size, middle=0.5)
    found = energies(frames, chance, rng, 1500, noise)
    bound = dataclasses.replace(FRAME, **common, directions=2, dimension=4, number_noise=noise).energy
    assert found.mean() - 6 * found.std() / math.sqrt(1500) <= bound <= 1.5 * found.mean()
    if not noise:
        spheres = Spheres(placement, radius, size, lambda u: np.rint(u * 2**20).astype(np.int64), 2.0**-20, middle=0.5)
        found = energies(spheres, chance, rng, 1500)
        bound = dataclasses.replace(SPHERE, **common).energy
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
    domain, horizon, rng = sv.domains.Hypersimplex(4, 2), 3_000, np.random.default_rng(1)
    for name, costs in sequences(domain, horizon).items():
        optimizer = bandit(domain, horizon, privacy=privacy, **choices)
        assert regret_of(optimizer, costs, rng, alternating) <= optimizer.plan.bound, name
