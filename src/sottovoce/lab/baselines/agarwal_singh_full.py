"""Agarwal & Singh with full information: the regularised leader of a padded private tree.

What is released: after every event but the last, the running sum of all gradients so far, from a binary tree whose
every node has noise (privacy/mechanisms/tree.py, where the proof stands), padded: each sum carries as many noises as
the tree is high, so that all of them have noise of one law.

Neighbours: one event's gradient is replaced by another, in up to K events of a person. Gradients are projected on the
set's directions, cut to the length G, and rounded to an integer grid; the grid refuses vectors that are longer than it
allows. Replacing one moves the integers by at most twice the largest norm: the sensitivity, whatever the caller does.

Tests: tests/lab/baselines/test_full_information.py.
"""

import math
import threading
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sottovoce import _fork
from sottovoce._arrays import Floats, Integers
from sottovoce.domains import Domain
from sottovoce.errors import CopyRefused, ForkRefused, InvalidLoss
from sottovoce.lab.baselines.compared import Observing
from sottovoce.lab.baselines.planned import central
from sottovoce.lab.baselines.plans import BaselinePlan
from sottovoce.oco.noisy_oco import MirrorStep
from sottovoce.plans.problem import Problem
from sottovoce.privacy import (
    TREE,
    DirectionGrid,
    Guarantee,
    Noise,
    NoiseSource,
    PrivacyStatement,
    ScaleRefused,
    Sensitivity,
    grids_for,
    levels,
    state,
)
from sottovoce.privacy.noise import noise_source

_LARGEST_SCALE = 2.0**55  # of noise, in steps of the grid


class AgarwalSinghFull(Observing):
    """Agarwal & Singh with full information: the regularised leader of a padded private tree. Needs gradients.

    x_t is the projection of c - step * (released sum of the gradients before t). The padding gives every released sum
    noise Z of one law. Then, for linear losses that do not depend on the play, expected regret is that of one and the
    same Z in all sums, which is follow the regularised leader with a tilted regulariser: the noise is paid once, not
    once per event. Regret is at most R^2/(2 step) + step G^2 T + E max <Z, x - x'>, with step = R/(G sqrt(2T)):
    sqrt(2) R G sqrt(T), plus at most D sqrt(d V) with V the variance of a coordinate of Z, which grows as
    log(T)^3/epsilon^2 for PureDP: privacy is almost free.

    Source: "The price of differential privacy for online learning" (ICML 2017), its algorithm for full information with
    the Euclidean regulariser. Verified against its abstract: sqrt(T) plus a term in 1/epsilon that does not grow as a
    root of T. Its constants are not used; the proof above is short, and has its own.

    Differences: gradients are cut to the length G and rounded to an integer grid, so that privacy does not rest on the
    Lipschitz constant; the noise is discrete, of the least scale that the tree needs: Laplace for PureDP, as theirs,
    Gaussian for ApproxDP and ZCDP. G is the Lipschitz constant along the affine hull, range/diameter if unknown.

    Parameters
    ----------
    domain, horizon, loss_range, privacy, lipschitz, seed, noise
        As for `PrivateBandit`. There are no public coins, so the seed plays no part. A gradient that is longer than G
        is cut: regret suffers, privacy does not.

    Examples
    --------
    >>> import sottovoce as sv
    >>> learner = sv.lab.baselines.AgarwalSinghFull(
    ...     sv.domains.Ball(2), horizon=3_000, loss_range=(-1.0, 1.0), privacy=sv.PureDP(epsilon=20.0), lipschitz=1.0
    ... )
    >>> for _ in range(1_000):
    ...     learner.observe(gradient=np.array([1.0, 0.0]))
    >>> bool(learner.point[0] < -0.9), learner.privacy.private
    (True, True)
    """

    name: ClassVar[str] = "agarwal-singh-full"
    private: ClassVar[bool] = True
    linear_only: ClassVar[bool] = True

    def __init__(
        self,
        domain: Domain,
        *,
        horizon: int,
        loss_range: tuple[float, float],
        privacy: Guarantee,
        lipschitz: float | None = None,
        seed: int | None = None,
        noise: NoiseSource | None = None,
    ) -> None:
        self._guarantee = central(privacy)
        problem = self._begin(domain, horizon, loss_range, privacy, lipschitz, seed)
        self._source = noise_source(noise)
        self._grid, self._sensitivity, self._noise = _calibrated(problem)
        self._tree = TREE.start(self._sensitivity, self._source.sampler(self._noise), padding=True)
        self._start: Floats = self._tree.start()
        self._last_seen = False  # the last event shapes no point, and is never handed to the tree
        self._map = MirrorStep(domain)
        self._solved: tuple[int, Floats] | None = None
        self._lock, self._fork_count = threading.RLock(), _fork.fork_count()
        self.plan = replace(self._planned(), order_only=lipschitz is None)

    def _planned(self) -> BaselinePlan:
        radius, longest = self.domain.outer_radius, self._longest
        self._step = radius / (longest * math.sqrt(2 * self.horizon))
        height = max(1, levels(self._sensitivity.length + 1))
        deviation = self._noise.standard_deviation * self._grid.step * longest * math.sqrt(height)
        paid = self.domain.diameter * math.sqrt(self.domain.affine_dimension) * deviation
        return BaselinePlan(
            self.name,
            "Agarwal & Singh 2017, full information",
            self.horizon,
            math.sqrt(2 * self.horizon) * radius * longest + paid,
            "sqrt(T) + log(T)^(3/2)/epsilon",
            {"step": self._step, "noise": f"{self._noise.family}, {height} in every sum, paid {paid:.4g} in all"},
        )

    # ------------------------------------------------------------------ playing

    @property
    def round(self) -> int:
        """Events that were observed: counted by the tree, so that none is in it twice, whatever cuts a call short."""
        return int(self._tree.round) + self._last_seen

    @property
    def oracle_calls(self) -> int:
        """Oracle calls that computing points has cost."""
        return self._map.calls

    @property
    def point(self) -> Floats:
        """What to play next: a function of released sums alone."""
        with self._lock:
            number = int(self._tree.round)
            if self._solved is None or self._solved[0] != number:
                released = self._tree.last if number else self._start
                unit = self._grid.step * self._longest
                self._solved = number, self._map(-self._step * unit * np.asarray(released, dtype=np.float64))
            return self._solved[1]

    def observe(self, gradient: ArrayLike) -> None:
        """Take in the gradient, at the point, of the event's loss. It is private: nothing shows it.

        `round` says whether a call that was cut short has counted; a gradient must not be handed in twice.
        """
        with self._lock:
            self._refuse_fork()
            self._check_remaining()
            integers = self._integers(gradient)
            if self.remaining == 1:
                self._last_seen = True
            else:
                self._tree.add(integers)

    def _integers(self, gradient: ArrayLike) -> Integers:
        """Return the gradient along the set, cut to the length G, as integers; refuse it without showing it."""
        values = _as_floats(gradient)
        if values.shape != (self.domain.dimension,) or not np.isfinite(values).all():
            raise InvalidLoss(f"gradient must be {self.domain.dimension} finite numbers; this one was not recorded")
        largest = float(np.abs(values).max())
        if largest > 0:  # divided by before squares are taken, which may not be finite
            values = self.domain.tangent(values / largest)
            length = float(np.linalg.norm(values))
            values = values * (min(largest / self._longest, 1 / length) if length > 0 else 0.0)
        return np.asarray(self._grid.quantise(values[None])[0])

    # ------------------------------------------------------------------ promising

    @property
    def privacy(self) -> PrivacyStatement:
        """The statement: what is promised, to whom, against whom, why it holds."""
        sensitivity, noise = self._sensitivity, self._noise
        laplace = noise.family == "laplace"
        count, size = max(1, TREE.reach(sensitivity.length)), float(sensitivity.l1) if laplace else sensitivity.l2
        people = self._guarantee.contributions
        spent = people * size * (count if laplace else math.sqrt(count)) / noise.scale
        sampled = "noise SIMULATED from a seed" if self._source.simulated else "noise from OpenDP's exact samplers"
        why = (
            f"replacing one gradient moves one event's integer vector by at most {size:.6g} steps of the grid in "
            f"{'l1' if laplace else 'l2'}, whatever the caller does; that event is in at most {count} noised vectors; "
            f"each carries independent discrete {noise.family.capitalize()} noise of scale {noise.scale:.6g}. Hence "
            f"{'epsilon' if laplace else 'mu'} = {spent:.6g} for {people} event{'s' if people > 1 else ''} of a person"
            + ("." if laplace else ", converted exactly (analytic Gaussian mechanism).")
        )
        mechanism = f"{self.name} with a padded tree of gradients; integers until noised; {sampled}."
        return state(self._guarantee, mechanism=mechanism, why=why, noise=noise, simulated=self._source.simulated)

    def _refuse_fork(self) -> None:
        if self._fork_count != _fork.fork_count() and not self._source.simulated:
            raise ForkRefused(
                "this learner was created in another process: parent and child would release the same gradients under "
                "two noises. Create it after the fork, in one process only"
            )

    def __reduce_ex__(self, protocol: Any) -> Any:
        if not self._source.simulated:
            raise CopyRefused(
                "a learner with real noise cannot be copied or pickled: two copies would release the same gradients "
                "under two noises. Use noise=SimulatedNoise(seed) in simulations"
            )
        return super().__reduce_ex__(protocol)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        vars(self).update(saved)
        self._lock, self._fork_count = threading.RLock(), _fork.fork_count()


def _as_floats(gradient: ArrayLike) -> Floats:
    """Return a gradient as floats, or nothing: why it fails would quote it."""
    try:
        return np.asarray(gradient, dtype=np.float64)
    except Exception:  # an owner's own type may raise anything
        return np.empty(0)


def _calibrated(problem: Problem) -> tuple[DirectionGrid, Sensitivity, Noise]:
    """Return the finest grid on which sums cannot overflow and the noise fits, the sensitivity, and the least noise."""
    dimension, length = problem.domain.dimension, max(1, problem.horizon - 1)
    for bits in range(grids_for(problem.loss_range, 2 * problem.horizon)[1].bits, 1, -1):
        grid = DirectionGrid(bits=bits)
        sensitivity = Sensitivity(2 * grid.largest_l1(dimension), 2 * grid.largest_l2(dimension), length, dimension)
        try:
            noise = TREE.noise(problem.privacy, sensitivity)
        except ScaleRefused:
            continue
        if noise is not None and noise.scale <= _LARGEST_SCALE:
            return grid, sensitivity, noise
    raise ValueError(f"{problem.privacy} needs noise that 64-bit integers cannot hold; raise epsilon")
