"""The grid of losses by item: what one person can move at most, against every pair of persons there can be."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sampling import every
from sottovoce.errors import InvalidLoss
from sottovoce.privacy import ItemGrid, LossGrid

RANGES = [(-1.0, 0.0), (0.0, 1.0), (0.0, 0.3), (-7.0, 0.0)]


def grid_of(width, bits, limit=None, loss_range=(-1.0, 0.0)):
    """A grid on which distances from 0 add up to `limit` steps at most."""
    losses = LossGrid(*loss_range, bits=bits)
    grid = ItemGrid(losses, width, None if limit is None else limit * losses.step * (1 + 1e-12))
    assert limit is None or grid.limit == min(limit, width * grid.steps)
    return grid


def every_person(grid):
    """The integers of everybody there can be, told as losses: also of those who click more than counts."""
    cube = np.array(list(itertools.product(range(grid.steps + 1), repeat=grid.width)))
    return np.unique(grid.quantise(grid.low + grid.step * cube).reshape(len(cube), -1), axis=0)


def spread(grid, people):
    """The number beside the items': h(u) = floor(u(U - u)/U), summed over items."""
    return (people * (grid.steps - people) // grid.steps).sum(axis=1)


SMALL = [(1, 3), (2, 3), (3, 2), (4, 2), (5, 1)]  # width, bits
CASES = [
    (width, bits, limit)
    for width, bits in SMALL
    for limit in [None, *sorted({1, *range(1, width * 2**bits + 3, max(1, width * 2**bits // 12))})]
]


@every("loss_range", RANGES[:2])
@every("width, bits, limit", CASES)
def test_sensitivities_are_those_of_the_farthest_two_persons(width, bits, limit, loss_range):
    grid = grid_of(width, bits, limit, loss_range)
    people = every_person(grid)
    apart = np.abs(people[:, None] - people[None])
    assert apart.sum(axis=2).max() == grid.l1
    assert math.sqrt((apart**2).sum(axis=2).max()) == pytest.approx(grid.l2, rel=1e-12)
    assert math.sqrt((apart**2).sum(axis=2).max()) <= grid.l2


@every("width, bits, limit", CASES)
def test_the_spread_is_free_where_it_moves_nothing_farther(width, bits, limit):
    """And not said to be elsewhere, but for two items, limits within a step of the ends, and grids where h is 0."""
    grid = grid_of(width, bits, limit)
    people = every_person(grid)
    beside = spread(grid, people)
    joint = (np.abs(people[:, None] - people[None]).sum(axis=2) + np.abs(beside[:, None] - beside[None])).max()
    if grid.spread_is_free:
        assert joint == grid.l1
    elif width != 2 and grid.steps > 2 and grid.steps / 2 <= grid.limit < -(-width // 2) * grid.steps - 1:
        assert joint > grid.l1


# ---------------------------------------------------------------------------------------------- the cut


@st.composite
def people_and_grids(draw):
    loss_range = draw(st.sampled_from(RANGES))
    width, bits = draw(st.integers(1, 7)), draw(st.integers(2, 18))
    most = draw(st.floats(2.0**-bits * 1.01, 9.0)) * (loss_range[1] - loss_range[0])
    grid = ItemGrid(LossGrid(*loss_range, bits=bits), width, most)
    ends = st.sampled_from([*loss_range, sum(loss_range) / 2, -1e9, 1e9])
    losses = draw(st.lists(st.lists(st.floats(-9, 9) | ends, min_size=width, max_size=width), min_size=1, max_size=5))
    return grid, np.array(losses)


def distances(grid, integers):
    return np.abs(integers.reshape(-1, grid.width) - grid.zero)


@given(people_and_grids())
def test_what_a_person_counts_for_is_limited_and_lies_on_the_grid(both):
    grid, losses = both
    integers = grid.quantise(losses)
    assert integers.dtype == np.int64
    assert integers.min() >= 0
    assert integers.max() <= grid.steps
    assert distances(grid, integers).sum(axis=1).max() <= grid.limit <= grid.width * grid.steps
    assert grid.valid(integers)
    assert grid.limit * grid.step <= grid.most * (1 + 1e-12)


@given(people_and_grids())
def test_the_cut_keeps_the_order_of_items_and_adds_nothing(both):
    grid, losses = both
    before, after = (distances(one, one.quantise(losses)) for one in (ItemGrid(grid.losses, grid.width, 1e9), grid))
    assert (after <= before).all()
    for row, cut in zip(before, after, strict=True):
        order = np.argsort(row, kind="stable")
        assert (np.diff(cut[order]) >= 0).all()
        assert len(set(cut[row == row[0]])) == 1  # equal ones stay equal
        if row.sum() <= grid.limit:
            assert np.array_equal(row, cut)
        else:  # to the limit, but for what is rounded down
            assert grid.limit - grid.width < cut.sum()


@given(people_and_grids(), st.randoms(use_true_random=False))
def test_the_cut_is_by_a_persons_own_numbers_whatever_their_order(both, random):
    grid, losses = both
    whole = grid.quantise(losses).reshape(len(losses), -1)
    for row, cut in zip(losses, whole, strict=True):
        assert np.array_equal(grid.quantise(row[None]).reshape(-1), cut)  # as if nobody else were there
    order = list(range(grid.width))
    random.shuffle(order)
    assert np.array_equal(grid.quantise(losses[:, order]).reshape(len(losses), -1), whole[:, order])


@given(people_and_grids(), st.integers(0, 6))
def test_a_coarser_grid_keeps_its_own_limit(both, coarser):
    """Later epochs: integers of the first grid become those of a coarser one, on which the noise is calibrated."""
    fine, losses = both
    bits = max(1, fine.losses.bits - coarser)
    if fine.most / fine.losses.width * 2**bits < 1:
        return  # refused when it is planned
    coarse = ItemGrid(LossGrid(fine.losses.low, fine.losses.high, bits=bits), fine.width, fine.most)
    factor = fine.steps // coarse.steps
    rounded = coarse.coarsened(fine.quantise(losses), factor)
    assert coarse.valid(rounded)
    assert distances(coarse, rounded).sum(axis=1).max() <= coarse.limit
    off = distances(fine, fine.quantise(losses)) - factor * distances(coarse, rounded)
    assert off.min() >= 0
    assert off.max() < factor  # towards 0, by less than a step
    assert (coarse.coarsened(np.full((1, fine.width), fine.zero), factor) == coarse.zero).all()


def test_a_grid_of_shared_integers_has_the_limits_of_its_items():
    for most in (None, 1.0, 2.5, 9.0):
        for width in (4, 5, 6):
            shared = ItemGrid(LossGrid(-1.0, 0.0, bits=4), 2, most, room=3).widened(width)
            plain = ItemGrid(LossGrid(-1.0, 0.0, bits=4), width, most)
            for what in ("limit", "l1", "l2", "spread_is_free", "zero", "steps"):
                assert getattr(shared, what) == getattr(plain, what)


# ---------------------------------------------------------------------------------------------- what is refused


def test_losses_that_are_no_rows_are_refused_without_being_shown():
    """One vector is nobody's: cut as one person's it would mix several, and fill the slots of all of them."""
    for width in (1, 2, 3):
        for most in (None, 1.0):
            grid = ItemGrid(LossGrid(-1.0, 0.0), width, most)
            for shape in [(width,), (2, width + 1), (2, 2, width), ()]:
                for refused in (lambda: grid.quantise(np.full(shape, -0.777)), lambda: grid.quantiser()(-0.777)):  # noqa: B023
                    with pytest.raises(InvalidLoss) as caught:
                        refused()
                    assert "777" not in str(caught.value)


def test_most_needs_a_zero_to_count_from_and_a_visible_part_of_the_range():
    with pytest.raises(ValueError, match="0 at one end"):
        ItemGrid(LossGrid(-1.0, 1.0), 2, 1.0)
    with pytest.raises(ValueError, match="too small"):
        ItemGrid(LossGrid(0.0, 1.0, bits=4), 2, 1 / 17)
    assert ItemGrid(LossGrid(0.0, 1e-60), 2, 1e300).limit == 2 * 2**18  # as much as there is, however much that is


def test_what_never_comes_counts_as_nothing_or_not_at_all():
    clicks, costs, free = (
        ItemGrid(LossGrid(*r, bits=4), 3, m) for r, m in (((-1, 0), 1.0), ((0, 1), 1.0), ((0, 1), None))
    )
    assert (clicks.missing, costs.missing) == (16, 0)
    assert clicks.valid(np.full(3, clicks.missing))
    assert costs.valid(np.full(3, costs.missing))
    assert (clicks.leaves_out_missing, costs.leaves_out_missing, free.leaves_out_missing) == (False, False, True)


@given(data=st.data())
def test_items_that_share_an_integer_come_out_as_they_went_in(data):
    """And what few items leave in their slots is what it is without others."""
    slots, bits = data.draw(st.integers(1, 4)), data.draw(st.sampled_from([4, 18]))
    width = data.draw(st.integers(slots, 3 * slots))
    ends = data.draw(st.sampled_from([(-1.0, 0.0), (0.0, 1.0)]))
    most = data.draw(st.sampled_from([None, 1.0, 2.5]))
    narrow = ItemGrid(LossGrid(*ends, bits=bits), slots, most, room=3)
    wide = narrow.widened(width)
    losses = data.draw(arrays(float, (3, width), elements=st.floats(*ends)))
    kept = wide.quantise(losses)
    assert kept.min() >= 0
    assert kept.max() <= wide.bounds[1] < 2**62
    assert kept.size == 3 * slots
    assert wide.valid(kept)
    alone = ItemGrid(LossGrid(*ends, bits=bits), width, most)
    assert np.array_equal(wide.unfolded(kept).ravel(), alone.quantise(losses).ravel())
    losses[:, slots:] = 0.0 if most else ends[0]
    assert np.array_equal(wide.quantise(losses), narrow.quantise(losses[:, :slots]))
    assert not wide.valid(kept + (narrow.steps + 1) ** 3)
