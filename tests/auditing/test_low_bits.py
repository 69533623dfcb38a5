"""Low-order bits: numbers with noise in floating point give their input away; integers with integer noise do not."""

import numpy as np
import pytest

import sottovoce as sv
from sampling import sampled
from sottovoce.auditing import Configuration, MechanismAlone, audit
from sottovoce.auditing._sources import secure_pool
from sottovoce.auditing.attacks.observations import lowest_bits
from sottovoce.auditing.parallel import BanditExperiment
from sottovoce.auditing.playing.survey import Crowd
from sottovoce.auditing.playing.worlds import Neighbours
from sottovoce.privacy import MECHANISMS

NOISED = [one.name for one in MECHANISMS.values() if one.noised]

RUNS = 4000


class FloatLaplace(MechanismAlone):
    """numpy's Laplace noise on a float: 0 or 1, of the scale that epsilon = 1 asks for."""

    def released(self, person, runs, source):
        coins = np.random.default_rng(0 if person is None else 1)
        return (0.0 if person is None else 1.0) + coins.laplace(scale=1.0, size=(runs, 1, 1))


def test_an_audit_catches_float_noise_by_its_lowest_bits():
    found = audit(FloatLaplace("fresh", sv.PureDP(1.0), rounds=1), runs=RUNS)
    assert not found.passed
    assert found.distinguisher.endswith("lowest bits")


def released_by_mechanism(name, privacy, person):
    return MechanismAlone(name, privacy, rounds=3).released(person, RUNS, secure_pool())


@pytest.mark.parametrize("name", sampled(NOISED, 2))
def test_released_values_lie_on_one_public_grid_in_both_worlds(name):
    """Integers times a public unit, so the set of values that can be seen is the same whatever the losses were."""
    for person in (None, (0,)):
        released = released_by_mechanism(name, sv.PureDP(1.0), person)
        assert (released == np.rint(released)).all()
        assert {0.0, 1.0} <= set(released[:, 0].ravel() % 2)  # no coarser grid either


@pytest.mark.parametrize("name", sampled(NOISED, 2))
def test_lowest_bits_are_the_same_in_both_worlds(name):
    """How often each bit is the lowest, to 5 standard errors: by bad luck all of these fail less than once in 10^4."""
    without, with_person = (
        lowest_bits(released_by_mechanism(name, sv.PureDP(1.0), person)[:, 0]) for person in (None, (0,))
    )
    for bit in range(6):
        one, other = (without == bit).mean(), (with_person == bit).mean()
        error = np.sqrt((one * (1 - one) + other * (1 - other)) / RUNS)
        assert abs(one - other) <= 5 * error


def test_the_optimizer_releases_integers_only():
    configuration = Configuration(sv.domains.Simplex(2), sv.PureDP(1.0), 8, {"exploration": "frames", "batch_size": 4})
    alone = Crowd((0,), (0,), people=(Neighbours((0,), (0,)),))
    experiment = BanditExperiment(configuration, (alone,), (0,) * 4 + (1,) * 4, 0)
    released = experiment.observe(0, 400, secure_pool(), np.random.default_rng()).released
    assert (lowest_bits(released) >= 0).all()
    assert {0.0, 1.0} == set(released.ravel() % 2)
