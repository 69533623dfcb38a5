"""Feedback by item under audit: neighbours who click disjoint items, and mistakes that must be caught."""

from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from planted import by_item, misaligned
from sampling import sampled
from sottovoce._sums import Itemised
from sottovoce.learning import policy
from sottovoce.plans import choosing, sensitivity
from sottovoce.privacy import ItemGrid, noise


def items(most=1.0, loss_range=(-1.0, 0.0), **more):
    return by_item(sv.domains.Hypersimplex(5, 4), 130, most, loss_range, **more)


def wrong(subject, most=4, schedules=("block", "single")):
    """What is found wrong, in words."""
    return misaligned(subject, most, schedules=list(schedules))


LADDER = [(0, 1), (0, 1), (1, 2), (2, 3), (2, 4), (3, 4), (1, 4), (0, 4)]
PATHS = sv.domains.Paths(LADDER, source=0, target=4)
SETS = {
    "one of n": sv.domains.Simplex(4),
    "paths of different lengths": PATHS,
    "spanning trees": sv.domains.SpanningTrees([(i, j) for i in range(4) for j in range(i)]),
    "rankings": sv.domains.Birkhoff(3),
    "matchings": sv.domains.Matchings(["ann", "bob"], ["car", "van", "bus"]),
    "some of n": sv.domains.Box(0, 1, 4),
    "products with paths": sv.domains.Product([PATHS, sv.domains.Simplex(2)]),
}
SUBJECTS = {
    **{name: by_item(domain, 130) for name, domain in SETS.items()},
    **{f"{name}, every item": by_item(domain, 130, None, (-1.0, 3.0)) for name, domain in SETS.items()},
    "one click": items(),
    "graded costs": items(1.5, (0.0, 1.0)),
    "every item": items(None, (-1.0, 2.0)),
    "two events a person": items(privacy=sv.PureDP(1.0, contributions=2)),
    "zCDP": items(privacy=sv.ZCDP(0.5)),
    "segments": replace(items(), segments=["phone", "desktop"], horizon=260),
}


@pytest.mark.parametrize("name", sampled(SUBJECTS, {"one click", "every item", "products with paths"}, SUBJECTS))
def test_intact_programs_align(name):
    assert not wrong(SUBJECTS[name])


def test_intact_studies_and_other_ways_of_telling_align():
    for most in (1.0, None):
        assert not wrong(replace(items(most), stored=True), 2, ["block", "shuffled"])
    assert not wrong(items(), 5, ["shuffled", "pieces", "threads", "gaps"])


@pytest.mark.parametrize(("most", "loss_range"), sampled([(1.1, (-1.0, 0.0)), (None, (0.0, 3.0))], 1))
def test_later_epochs_of_an_unknown_horizon_keep_the_limit_on_their_coarser_grids(monkeypatch, most, loss_range):
    """Losses are kept on the grid of the first epoch, and summed on that of their own."""
    for module in (sensitivity, choosing):
        monkeypatch.setattr(module, "most_bits", lambda problem, mechanism: 12 if problem.horizon <= 256 else 6)
    unknown = by_item(sv.domains.Hypersimplex(5, 3), None, most, loss_range)
    assert not wrong(unknown, schedules=["block"])
    right = ItemGrid.coarsened
    monkeypatch.setattr(ItemGrid, "coarsened", lambda self, rows, factor: right(self, rows, factor // 2))
    assert wrong(replace(unknown), schedules=["block"])


# ---------------------------------------------------------------------------------------------- breaks


@pytest.mark.parametrize("name", sampled(SUBJECTS, {"one click", "zCDP"}, SUBJECTS))
def test_a_sensitivity_that_is_k_times_too_small(monkeypatch, name):
    def quarter(mechanism, *given):
        found = mechanism.noise(*given)
        return noise.Noise(found.family, found.scale / 4)

    monkeypatch.setattr(sensitivity, "_noise", quarter)
    assert wrong(replace(SUBJECTS[name]))


def without_cut(monkeypatch, where):
    right = ItemGrid._cut
    monkeypatch.setattr(ItemGrid, "_cut", lambda self, rows: rows if where(rows) else right(self, rows))


def test_a_limit_that_is_left_out_in_blocks_or_everywhere(monkeypatch):
    without_cut(monkeypatch, lambda rows: len(rows) != 1)
    assert wrong(SUBJECTS["one click"])
    assert not wrong(SUBJECTS["one click"], 2, ["single"])  # which is right, and was all that was looked at
    assert not wrong(SUBJECTS["every item"], 2)  # has none
    without_cut(monkeypatch, lambda rows: True)
    assert wrong(SUBJECTS["one click"], 4, ["single"])


def test_only_the_first_item_has_noise(monkeypatch):
    right = policy.draw_noise

    def draw_noise(self, sums, before):
        released = right(self, sums, before)
        return np.where(np.arange(len(sums)) == 0, released, sums)

    monkeypatch.setattr(policy, "draw_noise", draw_noise)
    assert wrong(SUBJECTS["one click"])


def test_multipliers_that_are_not_paid_for(monkeypatch):
    right = Itemised.sum

    def heavier(self, losses):
        sums = right(self, losses)
        sums[:1] += sums[:1] // 4
        return sums

    monkeypatch.setattr(Itemised, "sum", heavier)
    assert wrong(SUBJECTS["one click"])
