"""Feedback by item: every event plays a decision that may be the best, and tells a loss for each of its items.

A round draws a few decisions from what is believed of items and deals its events out among them by public coins. Of
each item that is shown, the sum of its losses is released, with noise (privacy/mechanisms/item_sums.py). Items that
most decisions of a round have in common are known well enough already: under Laplace noise their numbers count for
less, so that those of the others carry less of it. Who counts for how much follows from the decisions alone.

There is no bound against an adversary. The order of magnitude that is given: of n items, of which k are chosen, each is
seen T k/n times, so that its mean is off by sqrt(V n/(T k)), and regret is of the order of k of these.

Tests: tests/plans/test_items.py, tests/auditing/test_items.py.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._sums import Itemised
from sottovoce.domains.base import as_choice
from sottovoce.errors import DomainError
from sottovoce.models.items import FEW_ITEMS, SURE, ItemBelief, ItemNumbers, ItemSettings
from sottovoce.plans.decisions import choices
from sottovoce.plans.draft import ProbeDraft, probe_noise_of
from sottovoce.plans.explorer import DealtExploration, Explorer, Record
from sottovoce.plans.kind import Chosen
from sottovoce.plans.placement import Placement
from sottovoce.plans.plan import Options, Plan
from sottovoce.plans.posterior import POSTERIOR
from sottovoce.plans.problem import Problem
from sottovoce.privacy import RESOLUTION, ItemGrid, Mechanism, check_multipliers

_PROBES, _TEMPER = 16, 0.8
_NARROWER = 0.14  # of more items the best sample lies farther out: samples of each are narrower
_FIRST, _EARLY, _LEAST_FIRST = 20.0, 1 / 30, 64  # events of the first round: times noise; of the horizon; at least


class ItemProbes(Explorer):
    """Rounds whose decisions are drawn from what is believed of items.

    Parameters
    ----------
    placement, belief
        As for `PosteriorProbes`.
    grid
        Of the losses.
    family, unit
        Of the noise, and its deviation in one number, in B.
    """

    belief: Any

    def __init__(
        self, placement: Placement, belief: ItemBelief, grid: ItemGrid, family: str | None, unit: float
    ) -> None:
        self.placement, self.belief, self.grid, self.family, self.unit = placement, belief, grid, family, unit

    def round_size(self, passed: int) -> int:
        """Events of the round that begins after `passed` events."""
        return int(self.belief.round_size(passed))

    def choose(self, passed: int, size: int, coins: np.random.Generator) -> Record:
        """Draw the round's decisions."""
        fresh = self.belief.knows_nothing
        drawn = self.belief.draw(self.belief.count(passed, size), passed, size, coins)
        decisions = np.full((len(drawn), self.grid.width), -1, dtype=np.int64)
        for row, decision in zip(decisions, drawn, strict=True):
            places = as_choice(decision)
            if places is None or len(places) > len(row):
                raise DomainError(
                    f"{self.placement.domain!r} has a decision that is no choice of at most {len(row)} items: feedback "
                    "by item is for sets of these. Tell one loss for each decision"
                )
            row[: len(places)] = self.placement.domain.in_order(places)
        return {"decisions": decisions, "multipliers": self._multipliers(decisions, fresh), "end": passed + size}

    def _multipliers(self, decisions: Integers, fresh: bool) -> Integers:
        """Return what each item of a round is multiplied by: more, the fewer of its decisions show it."""
        items, columns = columns_of(decisions)
        alike = np.full(len(items), RESOLUTION, dtype=np.int64)
        if fresh or self.family != "laplace" or len(decisions) < 2 or self.grid.limit <= self.grid.steps:
            return alike
        share = np.bincount(columns[columns >= 0], minlength=len(items)) / len(decisions)
        doubt = np.clip(2 * (1 - share), SURE, 1.0)
        own = -np.sort(-np.where(columns >= 0, doubt[columns], 0.0), axis=1)
        room = np.clip(2 * self.grid.limit / self.grid.steps - np.arange(own.shape[1]), 0.0, 1.0)
        most = float((own * room).sum(axis=1).max())
        found = np.floor(RESOLUTION * self.grid.l1 / self.grid.steps * doubt / most).astype(np.int64)
        return np.maximum(found, 1)

    def resume(self, point: Floats, record: Record) -> "ItemExploration":
        """Return the round that `record` was taken of."""
        return ItemExploration(self, point, record)


class ItemExploration(DealtExploration):
    """One round: a few decisions, who plays which, and what their items are multiplied by.

    Parameters
    ----------
    explorer, point
        As for `Exploration`.
    record
        (m, k), the items of each decision, in the order in which losses are told, -1 where it has fewer; and the
        multipliers of the items that are shown, in increasing order.
    """

    def __init__(self, explorer: ItemProbes, point: Floats, record: Record) -> None:
        decisions, multipliers = np.asarray(record["decisions"]), np.asarray(record["multipliers"])
        grid, dimension = explorer.grid, explorer.placement.domain.dimension
        rows = choices([np.sort(row[row >= 0]) for row in decisions], dimension)
        super().__init__(explorer, point, record, rows)
        self._decisions, self._multipliers = decisions, multipliers
        self.items, self._columns = columns_of(decisions)
        free = grid.spread_is_free and explorer.family != "gaussian"
        self._spread = int(multipliers.min(initial=RESOLUTION)) if free else 0
        fits = decisions.shape[1] == grid.width and len(multipliers) == len(self.items)
        if not fits or (len(self.items) and not self.items[-1] < dimension):
            raise ValueError("a round's decisions and what their items are multiplied by do not belong together")
        check_multipliers(grid, self._columns, multipliers, self._spread, explorer.family)
        self.numbers = len(self.items) + bool(self._spread)

    def _weights(self, index: Integers) -> Itemised:
        return Itemised(self._columns, index, self._multipliers, self._spread, self._explorer.grid.steps)

    def items_of(self, weights: Itemised) -> Integers:
        """Return the items of each event's decision, in the order in which their losses are told; -1 for no more."""
        return np.asarray(self._decisions[weights.index])

    def learn(self, belief: Any, sums: Floats, weights: Floats, squares: Floats | None = None) -> None:
        """Let a belief know what was released: the spread of all items together is among the sums."""
        explorer, settings, known = self._explorer, belief.settings, self._explorer.belief.known_names
        items, mine = self.items if known is None else known.places[self.items], weights[: len(self.items)]
        shown = mine > 0
        if not shown.any():  # all people of the round had given all their losses, or told nothing
            return
        values = settings.sign * (sums[: len(self.items)][shown] / mine[shown] - settings.zero) / settings.width
        spread = float(sums[-1]) / self._spread / settings.width if self._spread else None
        counts, deviations = mine[shown] / self._multipliers[shown], explorer.unit / mine[shown]
        belief.learn(ItemNumbers(items[shown], values, counts, deviations, spread, self._end))

    def counts(self, weights: Integers, size: int) -> tuple[Integers, Integers]:
        """All losses count with a plus, and the weights say how many there are; of what is beside them, all may."""
        most = weights.copy()
        if self._spread:
            most[-1] = self._spread * size * self._explorer.grid.width
        return np.zeros(self.numbers, dtype=np.int64), most


def columns_of(decisions: Integers) -> tuple[Integers, Integers]:
    """Return the items that decisions show, and where each item of each decision is among them.

    Examples
    --------
    >>> columns_of(np.array([[7, 2], [2, -1]]))
    (array([2, 7]), array([[ 1,  0],
           [ 0, -1]]))
    """
    items, columns = np.unique(decisions, return_inverse=True)
    columns = columns.reshape(decisions.shape)
    return (items[1:], columns - 1) if len(items) and items[0] == -1 else (items, columns)


@dataclass(frozen=True)
class ItemOptions(Options, exploration="items"):
    """What is the own of feedback by item in a plan.

    Attributes
    ----------
    probes
        Decisions of a round.
    first_events
        Events of the first round.
    posterior_scale
        What deviations of a sample are multiplied by.
    """

    probes: int
    first_events: int
    posterior_scale: float
    steps: ClassVar[bool] = False

    begins_with = ("features", "prior", "segments")
    rests_on = (
        "mean losses of items that do not depend on what is chosen beside them, and stay, drift slowly, or change now "
        "and then; no bound if they do not"
    )

    def words(self) -> str:
        """How such a plan explores."""
        return f"{self.probes} decisions a round that may be the best, by what was released of each item"

    def pace(self, horizon: int, batch_size: int) -> str:
        """How long rounds are."""
        return f"of {batch_size:,} events at first ({horizon:,} in all)"


class ItemDraft(ProbeDraft):
    """A plan for feedback by item, before noise and the order of the regret follow."""

    def bound_at(self, deviation: float) -> float:
        """Return the order of the regret for noise of a deviation."""
        problem = self.problem
        n, k, horizon = problem.domain.dimension, problem.domain.most_chosen, problem.horizon
        seen = max(1.0, horizon * k / n)
        off = math.sqrt((problem.width / 2) ** 2 / seen + min(1.0, (n / k) * 100 / seen) * (deviation**2 / seen))
        return horizon * k * min(problem.width, off) + problem.width * min(horizon, self.batch_size) / 2


def _drafts(problem: Problem, mechanism: Mechanism, chosen: Chosen) -> list[ItemDraft]:
    noise = probe_noise_of(problem, mechanism)
    n, k = problem.domain.dimension, problem.domain.most_chosen
    first = max(_LEAST_FIRST, round(min(_FIRST * noise.deviation / problem.width * n / k, _EARLY * problem.horizon)))
    scale = _TEMPER * min(1.0, (FEW_ITEMS / n) ** _NARROWER)
    options = ItemOptions(_PROBES, min(first, problem.horizon), scale)
    return [ItemDraft(problem, problem.placement("plain"), options, options.first_events, mechanism, noise)]


def _build(problem: Problem, plan: Plan, placement: Placement) -> Explorer:
    domain, grid = problem.domain, problem.item_grid(plan.bits)
    family = None if plan.noise is None else plan.noise.family
    unit = 0.0 if plan.noise is None else plan.noise.standard_deviation / grid.steps
    settings = ItemSettings(
        horizon=plan.horizon,
        width=problem.width,
        zero=problem.loss_range[0] if grid.zero == 0 else 0.0,
        sign=1 if grid.zero == 0 else -1,
        noise=unit / RESOLUTION,
        heavy=family == "laplace",
        items=domain.dimension,
        chosen=grid.width,
        may_be_empty=domain.least_chosen == 0,
        probes=plan.probes,
        first=plan.first_events,
        posterior_scale=plan.posterior_scale,
    )
    earlier = None if problem.prior is None else problem.prior.of_items(problem.names)
    rows, names = problem.feature_rows, problem.known_names
    belief = ItemBelief(domain.extreme_point, settings, features=rows, earlier=earlier, known_names=names)
    return ItemProbes(placement, belief, grid, family, unit)


ITEMS = replace(
    POSTERIOR,
    gives="items",
    options=ItemOptions,
    choices={name: POSTERIOR.choices[name] for name in ("probes", "posterior_scale")},
    drafts=_drafts,
    build=_build,
    feedback="items",
)
