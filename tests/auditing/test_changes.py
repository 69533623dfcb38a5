"""Catalogues that change under audit: neighbours click disjoint items before a change, after it, or both."""

from dataclasses import replace

import pytest

import sottovoce as sv
from planted import by_item, misaligned
from sampling import sampled
from sottovoce.auditing import Configuration
from sottovoce.optimizer import Optimizer
from sottovoce.plans import sensitivity
from sottovoce.privacy import ItemGrid

DRINKS = ["tea", "coffee", "cocoa", "milk", "water", "juice", "mate"]
CHOSEN = sv.domains.Hypersimplex
WIDER, FEWER = CHOSEN(DRINKS[1:], k=5), CHOSEN(DRINKS[:3], k=1)
TWICE = sv.PureDP(1.0, contributions=2)


def items(most=1.0, loss_range=(-1.0, 0.0), horizon=200, **more):
    return by_item(CHOSEN(DRINKS[:5], k=2), horizon, most, loss_range, **more)


def linear(**more):
    choices = {"exploration": "posterior", "probes": 2, "least_events": 4}
    return Configuration(CHOSEN(DRINKS[:5], k=2), TWICE, 60, choices, losses="linear", integral=True, **more)


def changing(subject, *after):
    """Return a subject whose decisions have more items after a change, of names that are new, and fewer in the end."""
    return replace(subject, changes=tuple(zip(after, (WIDER, FEWER), strict=True)))


SUBJECTS = {
    "one click": changing(items(), 40, 100),
    "every item": changing(items(None, (-1.0, 2.0)), 40, 100),
    "two events a person": changing(items(privacy=TWICE), 40, 100),
    "zCDP": changing(items(privacy=sv.ZCDP(0.5)), 40, 100),
    "one number": changing(linear(), 6, 30),
    "segments": changing(items(None, (0.0, 1.0), segments=["phone", "desktop"], horizon=330), 70, 190),
    "counted": changing(items(privacy=TWICE, people=2), 40, 100),
    "counted segments": changing(linear(segments=["phone", "desktop"], people=2), 6, 30),
    "study": changing(items(stored=True), 40, 100),
    "counted study": changing(linear(stored=True, people=2), 6, 30),
}
ALL = ("block", "single", "shuffled", "pieces")
FEW = {"study": ("block", "pieces", "renewed"), "segments": ("block", "pieces"), "counted segments": ("pieces",)}
FEW["counted study"] = ("pieces", "single")


def wrong(name):
    """What is found wrong, in words."""
    schedules = FEW.get(name, ALL)
    return misaligned(SUBJECTS[name], max(2, len(schedules)), schedules=schedules)


@pytest.mark.parametrize("name", sampled(SUBJECTS, {"one click", "study"}, SUBJECTS))
def test_intact_programs_align(name):
    assert not wrong(name)


# ---------------------------------------------------------------------------------------------- breaks


def test_a_wider_set_with_the_sensitivity_of_the_first(monkeypatch):
    def made(mechanism, guarantee, moves):
        share = min(1, 2 / moves.dimension)  # as if there were two items
        return mechanism.noise(guarantee, replace(moves, l1=int(share * moves.l1), l2=share * moves.l2))

    monkeypatch.setattr(sensitivity, "_noise", made)
    assert wrong("every item")


@pytest.mark.parametrize("name", ["one click", "study"])
def test_a_limit_that_is_left_out_once_items_share_integers(name, monkeypatch):
    right = ItemGrid._cut
    monkeypatch.setattr(
        ItemGrid, "_cut", lambda self, integers: right(self, integers) if self.slots is None else integers
    )
    assert wrong(name)


def test_an_integer_that_counts_for_all_items_that_share_it(monkeypatch):
    right = ItemGrid.unfolded

    def unfolded(self, kept):
        rows = right(self, kept)
        if self.slots is not None:
            rows[:, : self.slots] = kept.reshape(-1, self.slots)
        return rows

    monkeypatch.setattr(ItemGrid, "unfolded", unfolded)
    assert wrong("one click")


def test_people_who_are_counted_anew_with_a_set(monkeypatch):
    right = Optimizer._note_change

    def note(self, change):
        right(self, change)
        self._store._people.clear()

    monkeypatch.setattr(Optimizer, "_note_change", note)
    assert wrong("counted")


def test_a_block_in_another_order_than_its_events(monkeypatch):
    """So that people get each other's ids, and somebody tells more losses than were promised."""
    right = Optimizer._actions

    def actions(self, handed):
        several = len({one.public["set"] for one in handed.rounds}) > 1
        return right(self, handed._replace(order=None) if several else handed)

    monkeypatch.setattr(Optimizer, "_actions", actions)
    assert wrong("counted segments")
