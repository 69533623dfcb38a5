"""state() holds released values and public coins; from_state() goes on in a new round and refuses old ids."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interrupting import NoNoise
from watching import cut_after

import sottovoce as sv
from sampling import every
from sottovoce._records import pack, unpack
from sottovoce.domains.design import adopt_design, d_optimal_design
from sottovoce.errors import ConfigurationMismatch, LedgerConflict, StateRefused, UnknownAction

BALL, SLATES = sv.domains.Ball(3), sv.domains.Hypersimplex(8, 3)
WORST = {"plan": "worst-case"}
KINDS = {
    "posterior": {"domain": SLATES, "losses": "linear", "integral": True},
    "posterior, convex": {"domain": BALL},
    "frames": {"domain": BALL, **WORST},
    "rounded": {"domain": sv.domains.Box([0.0, 0.0], [0.01, 5.0]), "position": "rounded", **WORST},
    "designs": {"domain": SLATES, "losses": "linear", "integral": True, **WORST},
    "reuse": {"domain": SLATES, "losses": "linear", "integral": True, "reuse": True, **WORST},
    "fresh": {"domain": BALL, "mechanism": "fresh", **WORST},
    "delay": {"domain": BALL, "mechanism": "fresh", "delay": 2, **WORST},
}

EXACT = ("posterior", "posterior, convex", "frames", "fresh", "delay")
"""No projection by iteration: the same to the last bit."""


def make(domain=BALL, horizon=4000, privacy=None, **options):
    privacy = sv.PureDP(5.0) if privacy is None else privacy
    options = {"loss_range": (0.0, 1.0), "seed": 4, "noise": sv.SimulatedNoise(1), "name": "one", **options}
    return sv.PrivateBandit(domain, horizon=horizon, privacy=privacy, **options)


def losses_of(x):
    return np.clip(0.5 + x[:, 0] / 4, 0.0, 1.0)


def play(optimizer, rounds):
    played = []
    for _ in range(rounds):
        actions = optimizer.ask_round()
        optimizer.tell(actions.ids, losses_of(actions.x))
        played.append(actions.x)
    return played


@every("privacy", [sv.NoPrivacy(), sv.PureDP(2.0)])
@every("kind", KINDS)
def test_between_rounds_nothing_is_lost(kind, privacy):
    """With the noise fixed to nothing, the restored optimizer plays on as the original does.

    Points that come from an iteration may differ by its certified error, and vertices are drawn anew around them.
    """
    options = dict(KINDS[kind], privacy=privacy, noise=NoNoise())
    if privacy == sv.NoPrivacy():
        options.pop("mechanism", None)
    original = make(**options)
    play(original, 3)
    restored = sv.PrivateBandit.from_state(original.state(), noise=NoNoise())
    assert restored.remaining == original.remaining
    assert restored.round == original.round
    for _ in range(4):
        ((one,), (other,)) = play(original, 1), play(restored, 1)
        assert np.linalg.norm(original.point - restored.point) < 0.02 * original.domain.diameter
        if kind in EXACT:
            assert np.array_equal(one, other)


@given(st.lists(st.floats(-1, 2), min_size=5, max_size=5), st.lists(st.floats(-1, 2), min_size=5, max_size=5))
@settings(max_examples=20, deadline=None)
def test_losses_of_open_rounds_leave_no_trace(some, others):
    """Released rounds apart, a state does not depend on what was told: to the last byte."""
    states = []
    for losses in (some, others):
        optimizer = make(batch_size=50, **WORST)
        play(optimizer, 2)
        actions = optimizer.ask(20)
        optimizer.tell(actions.ids[:5], losses)
        states.append(optimizer.state())
    assert states[0] == states[1]


def test_a_restored_optimizer_begins_a_new_round_and_refuses_old_ids():
    original = make(batch_size=50, **WORST)
    play(original, 2)
    halfway = original.ask(20)
    state = original.state()
    later = original.ask(10)  # handed out after the state was taken, and before the crash
    restored = sv.PrivateBandit.from_state(state, noise=sv.SimulatedNoise(2))
    assert len(restored.outstanding()) == 0
    assert restored.remaining == 4000 - 120
    fresh = restored.ask(30)
    for ids in (halfway.ids, later.ids, int(later.ids[0]), 0):
        with pytest.raises(UnknownAction, match="since this optimizer was restored"):
            restored.tell(ids, np.full(np.size(ids), 0.5) if np.size(ids) > 1 else 0.5)
        assert len(restored.outstanding()) == 30
    restored.tell(fresh.ids, losses_of(fresh.x))


@every("segments", [None, ["phone", "desktop"], sv.Segments(limit=4096), sv.Segments(["phone"], limit=5)])
def test_lives_are_a_million_whatever_the_segments(segments):
    """Ids of 24 lives differ by multiples of what sets a life apart: the farthest two by a quarter million at least.

    Of a million lives 24 lie closer once in 10^12 times.
    """
    given = {"segments": segments, "losses": "linear", "horizon": 2000, "loss_range": (0.0, 1.0)}
    state = sv.PrivateBandit(sv.domains.Simplex(3), privacy=sv.PureDP(1.0), **given).state()
    whom = {} if segments is None else {"segment": "phone"}
    firsts = sorted(sv.PrivateBandit.from_state(state).ask(**whom).id for _ in range(24))
    apart = np.gcd.reduce(np.diff(firsts))
    assert (firsts[-1] - firsts[0]) // int(apart) >= 2**18
    assert 0 < firsts[0] <= firsts[-1] < 2**63


def test_segments_of_all_lives_share_no_ids():
    """Each life has room for billions of events."""
    given = {"segments": sv.Segments(limit=5), "losses": "linear", "horizon": 2000, "loss_range": (0.0, 1.0)}
    original = sv.PrivateBandit(sv.domains.Simplex(3), privacy=sv.PureDP(1.0), **given)
    incarnations = [original, *(sv.PrivateBandit.from_state(original.state()) for _ in range(3))]
    asked = {
        (incarnation, name): one.ask(20, segment=name).ids
        for incarnation, one in enumerate(incarnations)
        for name in "abcde"
    }
    everything = np.concatenate(list(asked.values()))
    assert len(np.unique(everything)) == len(everything) == 400
    starts = np.sort([asked[incarnation, "a"][0] for incarnation in range(4)])
    assert np.diff(starts).min() >= 2**31
    for (incarnation, _), ids in asked.items():
        for other, one in enumerate(incarnations):
            if other != incarnation:
                with pytest.raises(UnknownAction):
                    one.tell(ids, np.full(20, 0.5))
        incarnations[incarnation].tell(ids, np.full(20, 0.5))


def test_an_unknown_horizon_goes_on():
    original = make(domain=BALL, horizon=None)
    for _ in range(5):
        actions = original.ask(200)
        original.tell(actions.ids, losses_of(actions.x))
    restored = sv.PrivateBandit.from_state(original.state(), noise=sv.SimulatedNoise(3))
    assert restored.remaining is None
    for _ in range(10):
        actions = restored.ask(200)
        restored.tell(actions.ids, losses_of(actions.x))
    assert restored.round > original.round
    assert restored.plan.horizon > original.plan.horizon


def test_mechanisms_with_secrets_are_refused():
    optimizer = make(mechanism="tree", privacy=sv.ZCDP(0.5))
    with pytest.raises(StateRefused, match="keeps un-noised sums"):
        optimizer.state()


def test_a_custom_domain_is_passed_again_and_checked():
    def oracle(cost):
        return -np.sign(cost) + (cost == 0)

    original = make(domain=sv.domains.Custom(oracle, 3))
    play(original, 1)
    state = original.state()
    with pytest.raises(ConfigurationMismatch, match="passed again"):
        sv.PrivateBandit.from_state(state, noise=sv.SimulatedNoise(1))
    with pytest.raises(ConfigurationMismatch, match="answers otherwise"):
        sv.PrivateBandit.from_state(state, domain=sv.domains.Ball(3), noise=sv.SimulatedNoise(1))
    again = sv.PrivateBandit.from_state(state, domain=sv.domains.Custom(oracle, 3), noise=sv.SimulatedNoise(1))
    assert again.round == 1


def test_simulated_noise_stays_simulated_and_real_noise_real():
    state = make().state()
    with pytest.raises(StateRefused, match="NOT PRIVATE"):
        sv.PrivateBandit.from_state(state)
    assert sv.PrivateBandit.from_state(state, noise=sv.SimulatedNoise(1)).privacy.simulated
    optimizer = make(noise=None)
    play(optimizer, 2)
    restored = sv.PrivateBandit.from_state(optimizer.state())
    play(restored, 2)
    assert not restored.privacy.simulated


def test_what_is_damaged_of_another_version_lacks_something_or_is_over_is_refused():
    state, here = make().state(), {"noise": sv.SimulatedNoise(1)}
    for damaged in (state[:-1], b"", state[:40] + b"x" + state[41:], "text"):
        with pytest.raises(StateRefused, match="damaged"):
            sv.PrivateBandit.from_state(damaged)
    record = unpack(state)
    with pytest.raises(StateRefused, match="version 99"):
        sv.PrivateBandit.from_state(pack({**record, "version": 99}))
    lacking = "seed", "entropy", "name", "configuration.horizon", "streams", "stream0.passed", "stream0.stretch0.before"
    for missing in lacking:
        with pytest.raises(StateRefused, match="it lacks"):
            sv.PrivateBandit.from_state(pack({key: one for key, one in record.items() if key != missing}), **here)
    over = make(horizon=100)
    actions = over.ask(100)
    over.tell(actions.ids, losses_of(actions.x))
    with pytest.raises(StateRefused, match="nothing to go on with"):
        sv.PrivateBandit.from_state(over.state(), **here)


def test_a_ledger_is_charged_once(tmp_path):
    ledger = sv.Ledger(sv.PureDP(1.0), tmp_path / "ledger.db")
    optimizer = make(privacy=sv.PureDP(0.75), noise=None, ledger=ledger, name="routes")
    state = optimizer.state()
    sv.PrivateBandit.from_state(state, ledger=ledger)
    assert ledger.spent == 0.75
    with pytest.raises(LedgerConflict):
        make(privacy=sv.PureDP(0.75), noise=None, ledger=ledger, name="routes")


def test_rounded_coordinates_stay_those_that_were_stored():
    """Even where this process has computed others for the same set: released sums are in the stored ones."""
    slates = sv.domains.Hypersimplex(6, 2)
    computed = d_optimal_design(slates)
    turned = replace(computed, whitening=-computed.whitening, factor=-computed.factor)
    adopt_design(slates, turned)
    original = make(domain=slates, losses="linear", **WORST)
    play(original, 2)
    other = sv.domains.Hypersimplex(6, 2)
    make(domain=other, losses="linear", **WORST)  # computes its own
    restored = sv.PrivateBandit.from_state(original.state(), domain=other, noise=sv.SimulatedNoise(1))
    assert np.array_equal(restored._policy.current().placement.rounded.design.factor, turned.factor)
    played, again = original._policy.current(), restored._policy.current()
    assert np.allclose(
        again.placement.original(again.last_point()), played.placement.original(played.last_point()), atol=1e-2
    )


class CountingNoise:
    """A source that counts its draws."""

    simulated = True

    def __init__(self):
        self.draws = 0

    def sampler(self, noise):
        return self

    def draw(self, size):
        self.draws += 1
        return np.zeros(size, dtype=np.int64)


def tell_and_look(optimizer, actions):
    optimizer.tell(actions.ids, losses_of(actions.x))
    optimizer.recommend()


@pytest.mark.parametrize("open_rounds", [0, 3])
@pytest.mark.parametrize(
    "at", [lambda one: (one._policy, "compute"), lambda one: (one._policy.current().learner.step, "after")]
)
def test_an_interrupted_release_is_not_drawn_again_after_a_restart_either(at, open_rounds, monkeypatch):
    """The mechanism begins anew with every life, the learner does not: the two must not be taken for each other."""
    original = make(batch_size=20, **WORST)
    play(original, 4)
    original.ask(20 * open_rounds + 1)
    noise = CountingNoise()
    restored = sv.PrivateBandit.from_state(original.state(), noise=noise)
    actions = restored.ask_round()
    with monkeypatch.context() as patch:
        where, name = at(restored)
        patch.setattr(where, name, cut_after(getattr(where, name)))
        with pytest.raises(KeyboardInterrupt):
            tell_and_look(restored, actions)
    assert noise.draws == 1
    restored.recommend()  # tries again what is complete
    assert noise.draws == 1
    assert restored.round == original.round + 1
    play(restored, 1)
    assert noise.draws == 2
