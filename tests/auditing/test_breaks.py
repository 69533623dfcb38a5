"""Deliberate breaks of the program, each caught: by alignment, which involves no chance, or by its runs.

Alignments are exact: a right program never fails them, and a break that they catch is caught every time. Audits by runs
have simulated noise from a fixed seed here, so their outcomes are facts; with other seeds the intact program would fail
with probability 0.001 at most.
"""

import itertools
import secrets
from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from planted import misaligned
from sampling import sampled
from sottovoce import _sums
from sottovoce._sums import Probed
from sottovoce.auditing import Configuration, EvaluationConfiguration, audit, check_noise
from sottovoce.learning import policy
from sottovoce.learning.policy import BanditPolicy
from sottovoce.models import belief
from sottovoce.plans import sensitivity
from sottovoce.plans.frames import FrameExploration
from sottovoce.privacy import MECHANISMS, LossGrid, noise
from sottovoce.privacy.local import one_bit
from sottovoce.privacy.mechanisms import probe_sums, tree

FRAMES = {"exploration": "frames", "batch_size": 4, "directions": 2}
TWO_NUMBERS = Configuration(sv.domains.Simplex(3), sv.PureDP(1.0), 12, FRAMES, label="two numbers a round")
SEVERAL = Configuration(sv.domains.Simplex(3), sv.PureDP(1.0, contributions=2), 24, FRAMES | {"batch_size": 8})
EPOCHS = Configuration(sv.domains.Simplex(3), sv.PureDP(1.0), None, FRAMES | {"batch_size": 32})
DESIGNS = Configuration(
    sv.domains.Simplex(3),
    sv.PureDP(1.0),
    24,
    {"exploration": "designs", "rate": 0.25, "probe_events": 2, "decay": 0.0},
    losses="linear",
    integral=True,
)
PROBES = {"probes": 2, "least_events": 2}
BELIEVING = Configuration(
    sv.domains.Hypersimplex(4, 2), sv.PureDP(1.0), 12, PROBES, losses="linear", integral=True, label="posterior probes"
)
CONVEX = Configuration(sv.domains.Ball(2), sv.PureDP(1.0), 12, PROBES, loss_range=(0.0, 2.0), label="in a ball")


def sphere(mechanism, privacy):
    choices = {"exploration": "sphere", "mechanism": mechanism, "batch_size": 2}
    return Configuration(sv.domains.Box(0.0, 1.0, 2), privacy, 10, choices)


def study(subject=TWO_NUMBERS):
    return replace(subject, stored=True, label="study")


def refuted(subject, runs=400, **options):
    found = audit(subject, runs=runs, noise_seed=3, **options)
    print(found)
    return not found.passed


@pytest.fixture(params=["alignment", pytest.param("runs", marks=pytest.mark.long)])
def caught(request):
    """Whether a break is caught: by alignment, and by runs alone as well."""
    if request.param == "alignment":
        return lambda subject, runs=400, **options: misaligned(subject, **options)
    return refuted


INTACT = [BELIEVING, CONVEX, TWO_NUMBERS, SEVERAL, DESIGNS, *(sphere(name, sv.ZCDP(0.5)) for name in ("tree", "fresh"))]


@pytest.mark.parametrize("subject", sampled(INTACT, 3))
def test_intact_programs_align(subject):
    assert not misaligned(subject)


def test_a_generation_that_reads_like_a_number_of_the_study_is_no_leak(monkeypatch):
    """It is drawn with every restoration: 7,997 is within a bound that is shown, and 12 is the horizon."""
    steps = itertools.cycle([7995, 10, 12345, 2, 3])
    monkeypatch.setattr(secrets, "randbelow", lambda most: next(steps))
    assert not misaligned(study(), 2, schedules=["restored"])


# ---------------------------------------------------------------------------------------------- the grid of losses


def without_clipping(monkeypatch):
    def quantise(self, losses):
        return np.rint((np.asarray(losses, dtype=np.float64) - self.low) / self.width * self.steps).astype(np.int64)

    monkeypatch.setattr(LossGrid, "quantise", quantise)
    monkeypatch.setattr(LossGrid, "quantiser", lambda self: lambda loss: round((loss - self.low) * self.steps))


def test_no_clipping_at_all(monkeypatch, caught):
    without_clipping(monkeypatch)
    assert caught(TWO_NUMBERS)


def test_one_at_a_time_with_a_thousandfold_sensitivity(monkeypatch, caught):
    right = LossGrid.quantiser
    monkeypatch.setattr(LossGrid, "quantiser", lambda self: lambda loss: 1000 * right(self)(loss))
    assert caught(TWO_NUMBERS)
    assert not misaligned(TWO_NUMBERS, schedules=["block"])  # which is right, and was all that was looked at


# ---------------------------------------------------------------------------------------------- noise on the numbers


def only_the_first_noised(sums, drawn):
    return sums + np.where(np.arange(len(sums)) == 0, drawn, 0)


def one_noise_for_all(sums, drawn):
    return sums + drawn[0]


@pytest.mark.parametrize("broken", [only_the_first_noised, one_noise_for_all])
def test_numbers_without_noise_of_their_own(monkeypatch, broken, caught):
    monkeypatch.setattr(probe_sums, "add", broken)
    assert caught(TWO_NUMBERS)
    assert misaligned(BELIEVING)


@pytest.mark.parametrize("subject", sampled([BELIEVING, CONVEX], 1))
def test_squares_without_noise(monkeypatch, subject):
    """The second number of a decision is as private as the first."""
    monkeypatch.setattr(
        probe_sums, "add", lambda sums, drawn: sums + np.where(np.arange(len(sums)) < len(sums) // 2, drawn, 0)
    )
    assert misaligned(subject)


def test_squares_that_are_not_paid_for(monkeypatch):
    """Thrice the squares around the middle: from an end to the middle, both numbers move by more than the range."""
    monkeypatch.setattr(_sums, "squares_of", lambda losses, steps: 3 * (losses - steps // 2) ** 2 // steps)
    assert misaligned(BELIEVING)


def test_noise_forgotten_in_one_round(monkeypatch, caught):
    right = probe_sums.ProbeSums.release

    def release(self, sums):
        noisy = right(self, sums)
        return sums.copy() if self.round == 2 else noisy

    monkeypatch.setattr(probe_sums.ProbeSums, "release", release)
    assert caught(TWO_NUMBERS)


def test_no_noise_after_the_first_epoch(monkeypatch):
    right = policy.draw_noise

    def draw_noise(self, sums, before):
        released = right(self, sums, before)
        return sums.copy() if self.plan.horizon > 256 else released

    monkeypatch.setattr(policy, "draw_noise", draw_noise)
    assert misaligned(EPOCHS, 4)


# ---------------------------------------------------------------------------------------------- what else shows


def leaking(monkeypatch, where):
    """The un-noised sums of a round, a millionth of them, in actions of the rounds to come."""
    kept, right = true_sums(monkeypatch), FrameExploration.draw

    def draw(self, *which):
        drawn = right(self, *which)
        if kept:
            actions = drawn.actions.copy()
            actions[where] += 1e-12 * np.abs(kept.pop()).sum()
            drawn = drawn._replace(actions=actions)
        return drawn

    monkeypatch.setattr(FrameExploration, "draw", draw)


@pytest.mark.parametrize("where", sampled([slice(None), slice(0, 1), slice(1, None), slice(-1, None)], 1, str))
def test_the_true_sum_in_actions(monkeypatch, where):
    """In all of them, in the first, in all but the first, in the last."""
    leaking(monkeypatch, where)
    assert misaligned(TWO_NUMBERS)
    if where != slice(None):  # hidden from statistics by the noise that all actions of a round share
        assert refuted(TWO_NUMBERS)


def test_the_last_event_of_a_round_beside_the_sums(monkeypatch, caught):
    """Its loss leaves with the numbers, un-noised, in a number of its own that learning does not use."""
    right, learned = BanditPolicy.compute, BanditPolicy.learn

    def compute(self, one, slots):
        found = right(self, one, slots)
        return None if found is None else np.column_stack([found, [slots[-1], 0]])

    def learn(self, release):
        learned(self, release if release.numbers is None else release._replace(numbers=release.numbers[:, :-1]))

    monkeypatch.setattr(BanditPolicy, "compute", compute)
    monkeypatch.setattr(BanditPolicy, "learn", learn)
    assert caught(TWO_NUMBERS, 1200)


# ------------------------------------------------------------------------- decisions that follow from what was released


def true_sums(monkeypatch):
    """The un-noised sums of every round, as they are complete."""
    right, kept = policy.draw_noise, []

    def draw_noise(self, sums, before):
        kept.append(np.array(sums, dtype=np.float64))
        return right(self, sums, before)

    monkeypatch.setattr(policy, "draw_noise", draw_noise)
    return kept


@pytest.mark.parametrize("subject", [BELIEVING, CONVEX])
def test_a_round_whose_length_depends_on_a_raw_loss(monkeypatch, subject):
    """Longer by an event of each decision, after a round in which somebody lost as much as one can."""
    right, events, highest = BanditPolicy.compute, belief.Pace.events, []
    most = subject.plan.grids(subject.loss_range)[0].steps

    def remember(self, one, slots):
        highest.append(int(np.max(slots)))
        return right(self, one, slots)

    def longer(self, settings, passed):
        return events(self, settings, passed) + bool(passed and highest and highest[-1] >= most)

    monkeypatch.setattr(BanditPolicy, "compute", remember)
    monkeypatch.setattr(belief.Pace, "events", longer)
    assert misaligned(subject)


# ---------------------------------------------------------------------------------------------- sensitivities


def recalibrated(monkeypatch, change):
    """Give every plan other noise than it needs."""
    monkeypatch.setattr(sensitivity, "_noise", lambda mechanism, *given: change(mechanism.noise, *given))


def halved(calibrate, *given, **named):
    found = calibrate(*given, **named)
    return noise.Noise(found.family, found.scale / 2)


def for_one_event(calibrate, *given, **named):
    return calibrate(
        *(replace(one, contributions=1) if hasattr(one, "contributions") else one for one in given), **named
    )


SUMMING = [one.name for one in MECHANISMS.values() if one.noised and "vectors" in one.takes]


def fresh(subject):
    return replace(subject)  # plans are kept by their configuration


@pytest.mark.parametrize("subject", [BELIEVING, CONVEX, TWO_NUMBERS, *(sphere(name, sv.ZCDP(0.5)) for name in SUMMING)])
def test_a_sensitivity_of_half_the_range(monkeypatch, subject):
    recalibrated(monkeypatch, halved)
    assert misaligned(fresh(subject))


@pytest.mark.parametrize("privacy", [sv.PureDP(1.0, contributions=2), sv.ZCDP(0.5, contributions=2)])
def test_contributions_that_are_ignored(monkeypatch, privacy):
    recalibrated(monkeypatch, for_one_event)
    assert misaligned(replace(SEVERAL, privacy=privacy))
    assert misaligned(replace(BELIEVING, privacy=privacy, horizon=24, choices=PROBES | {"least_events": 4}))


@pytest.mark.parametrize("privacy", [sv.PureDP(1.0), sv.ZCDP(0.5)])
def test_a_level_of_the_tree_that_is_forgotten(monkeypatch, privacy):
    monkeypatch.setattr(tree, "_reached", lambda length: max(1, tree.levels(length + 1) - 1))
    recalibrated(monkeypatch, lambda calibrate, *given: calibrate.__wrapped__(*given))
    assert misaligned(sphere("tree", privacy))


def test_a_root_that_is_released_and_not_paid_for(monkeypatch):
    """The sum after the last of four rounds, which no action needs: one node more for everybody."""

    def with_root(moves, sampler, padding=False):
        return tree.TreeAggregator(moves.length + 1, moves.dimension, sampler, root=True)

    right = BanditPolicy.compute

    def compute(self, one, slots):
        return right(self, one._replace(public={**one.public, "last": False}), slots)

    monkeypatch.setitem(MECHANISMS, "tree", replace(tree.TREE, open=with_root))
    monkeypatch.setattr(BanditPolicy, "compute", compute)
    assert misaligned(replace(sphere("tree", sv.ZCDP(0.5)), horizon=8))


def test_a_grid_with_twice_the_steps_that_it_states(monkeypatch):
    monkeypatch.setattr(LossGrid, "steps", property(lambda self: 2 ** (self.bits - 1)))
    monkeypatch.setattr(LossGrid, "quantise", lambda self, losses: _finely(self, losses))
    monkeypatch.setattr(LossGrid, "quantiser", lambda self: lambda loss: int(_finely(self, loss)))
    assert misaligned(fresh(TWO_NUMBERS))


def _finely(self, losses):
    clipped = np.clip(np.asarray(losses, dtype=np.float64), self.low, self.high)
    return np.rint((clipped - self.low) / self.width * 2**self.bits).astype(np.int64)


@pytest.mark.parametrize("subject", [TWO_NUMBERS, EvaluationConfiguration(sv.PureDP(1.0))])
def test_a_missing_loss_that_is_farther_from_others_than_they_are_from_each_other(monkeypatch, subject):
    monkeypatch.setattr(LossGrid, "missing", property(lambda self: 3 * self.steps))
    assert misaligned(subject)


@pytest.mark.parametrize("subject", [TWO_NUMBERS, BELIEVING])
def test_an_event_that_counts_in_two_numbers(monkeypatch, subject):
    right = Probed._added
    monkeypatch.setattr(
        Probed, "_added", lambda probed, values: right(probed, values) + np.roll(right(probed, values), 1)
    )
    assert misaligned(subject)


# ---------------------------------------------------------------------------------------------- the owners' channels


def test_a_bit_that_is_too_sharp(monkeypatch):
    right = one_bit._least_threshold
    monkeypatch.setattr(one_bit, "_least_threshold", lambda epsilon: right(1.5 * epsilon))
    found = check_noise(processes=0, draws=2000, parts=("channels",))
    assert [one.passed for one in found] == [False, False]  # for the lowest loss and for the highest
