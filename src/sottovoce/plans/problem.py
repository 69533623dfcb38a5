"""What is given: the public facts that every plan starts from."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from sottovoce._arrays import Floats
from sottovoce._checks import whole
from sottovoce.domains import Domain, Rounded
from sottovoce.domains.specification import as_stored
from sottovoce.errors import DomainError
from sottovoce.models.known_names import KnownNames
from sottovoce.plans.options import DecisionFacts
from sottovoce.plans.placement import Placement
from sottovoce.plans.plan import UNKNOWN_LIPSCHITZ
from sottovoce.privacy import Guarantee, ItemGrid, LocalDP, LossGrid, local

_LARGEST = 1e60  # of losses: plans and beliefs square them, and more
_ROOM = 3  # times as many items as those of a first set, decisions of later ones may have


def loss_grid_of(loss_range: Any) -> LossGrid:
    """Return the finest grid of a range of losses; refuse those whose squares floating point cannot hold."""
    try:
        low, high = loss_range
    except (TypeError, ValueError):
        raise ValueError(f"loss_range must be a pair (low, high), got {loss_range!r}") from None
    grid, wrong = LossGrid(low, high), ""
    loss_range = grid.low, grid.high
    width = grid.high - grid.low
    if width < 1 / _LARGEST:
        wrong = f"too narrow: it must be at least {1 / _LARGEST:g} wide"
    elif width > _LARGEST:
        wrong = f"too wide: it must be at most {_LARGEST:g} wide"
    elif max(map(abs, loss_range)) > _LARGEST:
        wrong = f"too far out: its ends must be within {_LARGEST:g} of 0"
    if wrong:
        raise ValueError(f"loss_range {loss_range} is {wrong}, since losses are squared; use other units")
    return grid


@dataclass(frozen=True)
class Problem(DecisionFacts):
    """What is given: everything a plan may depend on, all of it public.

    Examples
    --------
    >>> import sottovoce as sv
    >>> Problem(sv.domains.Ball(3), 1000, (-1, 1), sv.PureDP(1.0), losses="linear").width
    2.0
    """

    domain: Domain
    horizon: int
    loss_range: tuple[float, float]
    privacy: Guarantee
    moved: tuple[str, float] | None = field(default=None, kw_only=True)
    """Of a later epoch: in which position it may start elsewhere than at the centre, and how far from it."""
    turned: bool = field(default=False, kw_only=True)
    """Whether a problem with rewards is that of losses already: a reward r in (low, high) is a loss of -r."""
    earlier_names: tuple[Hashable, ...] = field(default=(), kw_only=True)
    """Of a later set: what sets before it had, and a prior, in the order in which they came."""
    earlier_features: Floats | None = field(default=None, kw_only=True)
    """The rows of features of these."""

    def __post_init__(self) -> None:
        if not isinstance(self.privacy, Guarantee):
            raise TypeError(f"privacy must be a guarantee such as sv.PureDP(epsilon=1.0), got {self.privacy!r}")
        if not isinstance(self.domain, Domain):
            raise TypeError(f"domain must be a Domain such as sv.domains.Simplex(10), got {self.domain!r}")
        grid = loss_grid_of(self.loss_range)
        object.__setattr__(self, "loss_range", (grid.low, grid.high))
        object.__setattr__(self, "horizon", whole("horizon", self.horizon))
        super().__post_init__()
        if not self.turned:
            self._turn()
        self._check_knowledge()
        self._check_feedback()
        if self.domain.rough_dimension < 1:
            raise DomainError(f"{self.domain!r} holds a single point: there is nothing to decide")

    def _turn(self) -> None:
        """Become the problem of losses: what is planned and learned knows nothing else."""
        if self.prior is not None and self.prior.direction != self.direction:
            raise ValueError(f"prior is of a run with direction={self.prior.direction!r}: say so here, or leave it out")
        if self.direction == "maximize":
            low, high = self.loss_range
            object.__setattr__(self, "loss_range", (0.0 - high, 0.0 - low))
            object.__setattr__(self, "prior", None if self.prior is None else self.prior.turned())
            object.__setattr__(self, "turned", True)

    @property
    def sign(self) -> int:
        """What losses are multiplied by to be shown: -1 if people tell rewards."""
        return -1 if self.direction == "maximize" else 1

    def _check_feedback(self) -> None:
        """Refuse feedback by item where decisions are no choices of items, or losses are privatised one by one."""
        if self.feedback != "items":
            return
        if not self.linear:
            raise ValueError(
                "feedback='items' is for decisions that choose items: pass integral=True (or losses='linear'). A "
                "convex loss of a point between decisions is no sum over items"
            )
        if isinstance(self.privacy, LocalDP):
            raise ValueError(
                "feedback='items' is not for LocalDP: each item's loss would need a channel, and a share of the "
                "budget, of its own. Privatise one number for each decision, or use PureDP"
            )
        if not self.domain.chooses_items:
            raise DomainError(
                f"feedback='items' needs a set whose decisions are zeros and ones, and {self.domain!r} has others: "
                "tell one loss for each decision"
            )
        self.item_grid(6)  # refuses what `most` cannot be

    def _check_knowledge(self) -> None:
        """Refuse what is known beforehand of other coordinates than the domain's."""
        dimension = self.domain.dimension
        if self.features is not None and len(self.features.rows) != dimension:
            raise ValueError(
                f"features must have a row for each of the {dimension} coordinates of {self.domain!r}, got "
                f"{len(self.features.rows)}"
            )
        if self.prior is not None and (self.prior.model == "items") != (self.feedback == "items"):
            raise ValueError(
                f"prior is a {self.prior.model!r} model, and feedback={self.feedback!r} needs another: a prior is of "
                "the same kind of feedback"
            )
        if self.prior is None or (self.prior.labels is not None and self.domain.labels is not None):
            return
        known = self.prior.dimension + len(self.prior.others)
        if known != dimension:
            raise ValueError(
                f"prior is of decisions with {known} coordinates, and those of {self.domain!r} have {dimension}: they "
                "are found by names where both have some"
            )

    @cached_property
    def names(self) -> tuple[Hashable, ...] | None:
        """Names of all that something is known of, or will be; None where coordinates have none."""
        labels = as_stored(self.domain.labels)
        if labels is None:
            return None
        given = labels if self.prior is None or self.prior.names is None else labels + self.prior.names
        return tuple(dict.fromkeys(self.earlier_names + given))

    @cached_property
    def known_names(self) -> KnownNames | None:
        """The same, where it is more than the set's coordinates, or in another order."""
        labels = as_stored(self.domain.labels)
        if labels is None or self.names is None or self.names == labels:
            return None
        place = {name: number for number, name in enumerate(self.names)}
        return KnownNames(self.names, np.array([place[name] for name in labels]))

    @cached_property
    def feature_rows(self) -> Floats | None:
        """Features of all that something is known of: where there are none, as is usual in the set."""
        if self.features is None or self.known_names is None:
            return None if self.features is None else self.features.rows
        known, mine = self.known_names, self.features.rows
        rows = np.tile(mine.mean(axis=0), (len(known.names), 1))
        if self.earlier_features is not None:
            rows[: len(self.earlier_features)] = self.earlier_features
        rows[known.places] = mine
        return rows

    @property
    def channel_of_owners(self) -> Any:
        """Under `LocalDP`: what the losses' owners privatise them with."""
        if not isinstance(self.privacy, LocalDP):
            raise AttributeError(f"there is a channel under LocalDP only; the guarantee is {self.privacy}")
        low, high = self.loss_range
        ends = (low, high) if self.sign > 0 else (0.0 - high, 0.0 - low)
        return local.OneBitChannel(ends, self.privacy.per_report)

    def loss_grid(self, bits: int) -> LossGrid:
        """Where the integers of losses live."""
        return LossGrid(*self.loss_range, bits=bits, rewards=self.sign < 0)

    def item_grid(self, bits: int) -> ItemGrid:
        """Where the integers of a person's losses by item live; where items have names, with room for wider sets."""
        room = 1 if self.domain.labels is None else _ROOM
        return ItemGrid(self.loss_grid(bits), self.domain.most_chosen, self.most, room)

    @property
    def linear(self) -> bool:
        """Whether mean losses are linear in what is played: they are said to be, or vertices are."""
        return self.losses == "linear" or self.integral

    @property
    def width(self) -> float:
        """B, the range that losses are clipped to."""
        return self.loss_range[1] - self.loss_range[0]

    @property
    def middle(self) -> float:
        """The middle of the loss range."""
        return (self.loss_range[0] + self.loss_range[1]) / 2

    @property
    def effective_dimension(self) -> int:
        """Coordinates that losses can depend on; with features, about three for each of these."""
        if self.features is None:
            return self.domain.dimension
        return min(self.domain.dimension, 3 * int(self.features.rows.shape[1]))

    def placement(self, position: str) -> Placement:
        """Where the play takes place, worked on in plain or rounded position."""
        moved = self.moved[1] if self.moved is not None and self.moved[0] == position else 0.0
        return Placement(self.domain, _rounded(self.domain) if position == "rounded" else None, self.integral, moved)

    def lipschitz_in(self, placement: Placement) -> float:
        """Lipschitz constant in working coordinates; unknown, it is range/diameter, as in the paper's |f| <= LD.

        That is the least it can be if losses use their whole range: what follows from it is no guarantee (`cautions`).
        """
        if self.lipschitz is None:
            return self.width / placement.working.diameter
        stretch = 1.0 if placement.rounded is None else float(np.linalg.norm(placement.rounded.design.factor, 2))
        return self.lipschitz * stretch

    def cautions(self, placement: Placement) -> tuple[str, ...]:
        """Notes for a plan whose bound rests on the Lipschitz constant: one if that is a guess."""
        if self.lipschitz is not None:
            return ()
        return (
            f"{UNKNOWN_LIPSCHITZ}: {self.lipschitz_in(placement):.4g} is taken, range/diameter, the least that losses "
            "with this range can have; if they are steeper anywhere, regret may be above what is said here",
        )


@lru_cache(maxsize=64)
def _rounded(domain: Domain) -> Rounded:
    return Rounded(domain)


def forget_rounded() -> None:
    """Forget rounded positions that were computed, because a domain was given another design."""
    _rounded.cache_clear()
