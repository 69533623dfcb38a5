"""Feedback by item under audit: neighbours who click disjoint items, and mistakes that must be caught.

Alignments are exact: a right program never fails them, and a break that they catch is caught every time.
"""

from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from sampling import sampled
from sottovoce._sums import Itemised
from sottovoce.auditing import Configuration, align
from sottovoce.learning import policy
from sottovoce.plans import sensitivity
from sottovoce.privacy import ItemGrid, noise

FEW = {"probes": 2}


def items(most=1.0, loss_range=(-1.0, 0.0), privacy=None, **more):
    return Configuration(
        sv.domains.Hypersimplex(5, 4),
        privacy or sv.PureDP(1.0),
        130,
        FEW,
        loss_range=loss_range,
        integral=True,
        feedback="items",
        most=most,
        **more,
    )


def misaligned(subject, most=4, schedules=("block", "single"), **options):
    found = align(subject, most=most, schedules=list(schedules), **options)
    print(found)
    return not found.passed


SUBJECTS = {
    "one click": items(),
    "graded costs": items(1.5, (0.0, 1.0)),
    "every item": items(None, (-1.0, 2.0)),
    "two events a person": items(privacy=sv.PureDP(1.0, contributions=2)),
    "zCDP": items(privacy=sv.ZCDP(0.5)),
    "segments": replace(items(), segments=["phone", "desktop"], horizon=260),
}


@pytest.mark.parametrize("name", sampled(SUBJECTS, {"one click", "every item"}, SUBJECTS))
def test_intact_programs_align(name):
    assert not misaligned(SUBJECTS[name])


def test_intact_studies_align():
    for most in (1.0, None):
        assert not misaligned(replace(items(most), stored=True), 2, ["block", "shuffled"])


def test_other_ways_of_telling_align():
    assert not misaligned(items(), 5, ["shuffled", "pieces", "threads", "gaps"])


# ---------------------------------------------------------------------------------------------- breaks


def recalibrated(monkeypatch, change):
    monkeypatch.setattr(sensitivity, "_noise", lambda mechanism, *given: change(mechanism.noise(*given)))


@pytest.mark.parametrize("name", sampled(SUBJECTS, {"one click", "zCDP"}, SUBJECTS))
def test_a_sensitivity_that_is_k_times_too_small(monkeypatch, name):
    recalibrated(monkeypatch, lambda found: noise.Noise(found.family, found.scale / 4))
    assert misaligned(replace(SUBJECTS[name]))


def without_cut(monkeypatch, only_blocks):
    right = ItemGrid._cut

    def cut(self, integers):
        return right(self, integers) if only_blocks and len(integers) == 1 else integers

    monkeypatch.setattr(ItemGrid, "_cut", cut)


def test_a_limit_that_is_left_out_in_blocks(monkeypatch):
    without_cut(monkeypatch, only_blocks=True)
    assert misaligned(SUBJECTS["one click"])
    assert not misaligned(SUBJECTS["one click"], 2, ["single"])  # which is right, and was all that was looked at
    assert not misaligned(SUBJECTS["every item"], 2)  # has none


def test_a_limit_that_is_left_out_everywhere(monkeypatch):
    without_cut(monkeypatch, only_blocks=False)
    assert misaligned(SUBJECTS["one click"], 4, ["single"])


def test_items_that_are_counted_twice(monkeypatch):
    right = Itemised.sum
    monkeypatch.setattr(Itemised, "sum", lambda self, losses: right(self, losses.copy()) + right(self, losses))
    assert misaligned(SUBJECTS["one click"])


def test_only_the_first_item_has_noise(monkeypatch):
    right = policy.draw_noise

    def draw_noise(self, sums, before):
        released = right(self, sums, before)
        return np.where(np.arange(len(sums)) == 0, released, sums)

    monkeypatch.setattr(policy, "draw_noise", draw_noise)
    assert misaligned(SUBJECTS["one click"])


def test_multipliers_that_are_not_paid_for(monkeypatch):
    right = Itemised.sum

    def heavier(self, losses):
        sums = right(self, losses)
        sums[:1] += sums[:1] // 4
        return sums

    monkeypatch.setattr(Itemised, "sum", heavier)
    assert misaligned(SUBJECTS["one click"])
