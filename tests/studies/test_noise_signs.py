"""A study that releases without noise gives itself away, if its losses let it; one with noise never does."""

import numpy as np
import pytest
from small_studies import ball, believing, curved

import sottovoce as sv
from sampling import every, sampled
from sottovoce.auditing._sources import Silence
from sottovoce.privacy import Noise, SecureNoise
from sottovoce.studies.verifying._noise_signs import NoiseSigns

STEPS = 2**18


def signs_of(noise, numbers, counts=None):
    signs = NoiseSigns(noise, STEPS)
    for row in numbers:
        signs.add(row, counts)
    return signs.faults()


def sums(rng, rounds, numbers, events, losses):
    """Return the sums of rounds of events, half of them with a minus."""
    return (losses(rng, (rounds, numbers, events)) * np.resize([1, -1], events)).sum(axis=2)


LOSSES = {
    "clicks": lambda rng, size: STEPS * rng.integers(0, 2, size=size),
    "stars": lambda rng, size: STEPS // 4 * rng.integers(0, 5, size=size),
    "always the same": lambda rng, size: np.full(size, 77),
    "any": lambda rng, size: rng.integers(0, STEPS + 1, size=size),
}
NOISES = [Noise("laplace", STEPS), Noise("gaussian", 4.0 * STEPS), Noise("laplace", 40.0)]


@every("noise", NOISES)
@every("losses", LOSSES)
def test_noise_is_never_taken_for_none(losses, noise):
    """False alarms have probability 1e-9 each."""
    rng, counts = np.random.default_rng(0), (np.full(3, 2), np.full(3, 2))
    sampler = SecureNoise().sampler(noise)
    for _ in range(30):
        exact = sums(rng, 40, 3, 4, LOSSES[losses])
        assert signs_of(noise, exact + sampler.draw(exact.size).reshape(exact.shape), counts) == []


@every("losses", ["clicks", "stars", "always the same"])
def test_losses_on_a_coarse_grid_show_that_their_sums_have_no_noise(losses):
    exact = sums(np.random.default_rng(1), 10, 3, 4, LOSSES[losses])
    assert any("as if they had no noise" in fault for fault in signs_of(Noise("laplace", STEPS), exact))


def test_so_do_numbers_that_share_their_noise_and_a_single_one_without():
    rng, noise = np.random.default_rng(2), Noise("laplace", STEPS)
    exact, draws = sums(rng, 20, 3, 4, LOSSES["clicks"]), SecureNoise().sampler(noise).draw(60).reshape(20, 3)
    assert any("as if they shared" in fault for fault in signs_of(noise, exact + draws[:, :1]))
    draws[:, 1:] = 0
    assert any("as if they had no noise" in fault for fault in signs_of(noise, exact + draws))


def test_numbers_that_never_leave_the_range_of_their_sums_have_no_noise():
    """Whatever the losses: two events in a number, and noise as large as their range."""
    exact = sums(np.random.default_rng(3), 100, 3, 2, LOSSES["any"])
    counts = np.ones(3, dtype=np.int64), np.ones(3, dtype=np.int64)
    assert any("too few" in fault for fault in signs_of(Noise("laplace", STEPS), exact, counts))


def test_a_number_farther_out_than_noise_can_carry_it_is_found():
    noise = Noise("laplace", STEPS)
    draws = SecureNoise().sampler(noise).draw(300).reshape(100, 3)
    counts = np.zeros(3, dtype=np.int64), np.ones(3, dtype=np.int64)
    assert signs_of(noise, draws, counts) == []
    draws[50, 1] = 40 * STEPS
    assert any("farther out" in fault for fault in signs_of(noise, draws, counts))


class NoNoise(SecureNoise):
    """Says that it is secure, and adds nothing."""

    def sampler(self, noise):
        return Silence()


RANGE, SHORT = {"loss_range": (0.0, 1.0)}, {"horizon": 4000, "privacy": sv.PureDP(1.0)}


STUDIES = {
    "frames": ball(**SHORT),
    "fresh": ball(**SHORT, exploration="sphere", mechanism="fresh"),
    "designs": {"domain": sv.domains.Hypersimplex(5, 2), "losses": "linear", "plan": "worst-case"} | RANGE | SHORT,
    "approximate": ball(**SHORT | {"privacy": sv.ApproxDP(1.0, 1e-6)}),
    "unknown horizon": ball(**SHORT | {"horizon": None}, domain=sv.domains.Ball(2), batch_size=64),
    "probes": believing(**SHORT),
    "probes on a ball": curved(**SHORT),
    "approximate probes": believing(**SHORT | {"privacy": sv.ApproxDP(1.0, 1e-6)}),
    "probes, unknown horizon": believing(**SHORT | {"horizon": None}),
}
QUICK = {"frames", "fresh", "designs", "approximate probes", "probes on a ball"}


@pytest.mark.parametrize("arguments", sampled(STUDIES.values(), QUICK, STUDIES))
@pytest.mark.parametrize("source", [None, NoNoise()], ids=["noise", "none"])
def test_a_study_of_clicks_that_releases_without_noise_is_found_out(source, arguments, sqlite_url):
    clicks = np.random.default_rng(4)
    with sv.Study.open(sqlite_url, name="study", noise=source, seed=1, **arguments) as study:
        actions = study.ask(1200)
        study.tell(actions.ids, clicks.integers(0, 2, size=1200).astype(float))
        found = study.verify()
    assert found.released > 2
    if source is None:
        assert found.ok, str(found)
    else:
        assert any("noise" in fault for fault in found.faults)
