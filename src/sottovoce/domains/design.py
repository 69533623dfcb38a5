"""D-optimal designs over the vertices of a set, from its linear oracle alone.

A design is a probability distribution on vertices. The leverage of a point x is (x - mean)' S^+ (x - mean), with S the
design's covariance. A design is D-optimal (det S is largest) exactly if no point of the set has a leverage above d, the
dimension of its affine hull (Kiefer, Wolfowitz, 1960). The ellipsoid {leverage <= d} is then the smallest around the
set, and the smaller one {leverage <= 1/d} lies inside it.
"""

import math
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Matrix, Vector
from sottovoce._threads import single_threaded
from sottovoce.domains._geometry.hull import SEED, both_ways
from sottovoce.domains._geometry.orbits import Orbit
from sottovoce.domains.base import Domain
from sottovoce.domains.oracles import watched_calls
from sottovoce.errors import DomainError

_ROUNDS = 40  # of solving and climbing
_QUIET = 2  # rounds in a row that must find nothing better
_STEPS = 20  # of one climb
_EXACT = 1e-5  # excess left on the pool itself
_EXCESS = 1e-4  # leverage above d, relative to it, that is worth another vertex
_STARTS = 200  # most climbs of a kind in one round
_POOL = 20_000
_SEARCHED = (
    30  # dimensions up to which symmetric sets are searched like others: runs that were recorded stay as they are
)
_WORK = 5e10  # multiplications spent on weights, after which the best design that was found has to do


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """Vertices and weights whose covariance has (nearly) the largest determinant.

    Attributes
    ----------
    vertices, weights : arrays of shape (k, n) and (k,)
        Support and probabilities, all positive; none, if the design is that of the cheapest vertex for a cost of
        independent standard normals, which of symmetric sets is known by formula.
    mean : array of shape (n,)
        Their mean.
    whitening : array of shape (d, n)
        W with W S W' = I and W'W = S^+: leverage is ||W (x - mean)||^2.
    factor : array of shape (n, d)
        F with F F' = S, the covariance; it undoes the whitening within the affine hull.
    worst_leverage : float
        Largest leverage of any vertex that was met. The search for a larger one is by climbing from many starts: this
        is evidence for, not proof of, an upper bound over the whole set. On the support it is exact.
    calls : int
        Oracle calls that were spent.
    """

    vertices: Matrix
    weights: Vector
    mean: Vector
    whitening: Matrix
    factor: Matrix
    worst_leverage: float
    calls: int

    def __post_init__(self) -> None:
        for array in (self.vertices, self.weights, self.mean, self.whitening, self.factor):
            array.setflags(write=False)

    @property
    def dimension(self) -> int:
        """Dimension of the affine hull (d): the leverage that no point exceeds under the best design."""
        return len(self.whitening)

    @property
    def by_formula(self) -> bool:
        """Whether its vertices are those of random costs, and not listed."""
        return not len(self.weights)

    @property
    def ratio(self) -> float:
        """The worst leverage that was met, relative to d; 1 is optimal."""
        return self.worst_leverage / self.dimension

    def leverage(self, x: ArrayLike) -> Vector:
        """Return the leverages of points, of shape (n,) or (m, n)."""
        white = (np.asarray(x, dtype=np.float64) - self.mean) @ self.whitening.T
        squared: Vector = np.square(white).sum(axis=-1)
        return squared

    def __repr__(self) -> str:
        support = "vertices of random costs" if self.by_formula else f"{len(self.weights)} vertices"
        return (
            f"Design({support}, dimension {self.dimension}, "
            f"worst leverage met {self.worst_leverage:.4g} = {self.ratio:.4f} d)"
        )


_known: "WeakKeyDictionary[Domain, Design]" = WeakKeyDictionary()


def known_design(domain: Domain) -> Design | None:
    """Return the design that a domain has already, if any."""
    return _known.get(domain)


def adopt_design(domain: Domain, design: Design) -> None:
    """Let `domain` have a design that was computed before and kept: coordinates that depend on it stay as they were."""
    _known[domain] = design


def d_optimal_design(domain: Domain) -> Design:
    """Return a D-optimal design over the vertices of `domain`; computed once for each domain object.

    Examples
    --------
    >>> from sottovoce.domains import Hypersimplex
    >>> design = d_optimal_design(Hypersimplex(6, 2))
    >>> design.dimension, round(design.worst_leverage, 3)
    (5, 5.0)
    """
    if domain not in _known:
        orbit = domain.orbit()
        with single_threaded(), watched_calls(f"searching a D-optimal design over {domain!r}"):
            by_formula = orbit is not None and len(orbit.axes) > _SEARCHED
            _known[domain] = _of_orbit(domain, orbit) if orbit is not None and by_formula else _search(domain)
    return _known[domain]


def _of_orbit(domain: Domain, orbit: Orbit) -> Design:
    """Return the design of a symmetric set: every vertex has the leverage d, and there is nothing to search."""
    axes, deviations = orbit
    whitening, factor = axes / deviations[:, None], axes.T * deviations
    none = np.empty((0, domain.dimension))
    return Design(none, np.empty(0), np.array(domain.center), whitening, factor, float(len(axes)), 0)


def _search(domain: Domain) -> Design:
    """Solve on a pool of vertices, climb from many starts to vertices of more leverage, add them, and repeat."""
    basis, rng = domain._hull.basis, np.random.default_rng(SEED + 3)
    size = len(basis)
    if size == 0:
        raise DomainError(f"{domain!r} is a single point: a design needs at least two vertices")
    directions = rng.standard_normal((2 * size, size)) @ basis
    pool = np.unique(np.vstack((domain._hull.vertices, both_ways(domain.extreme_point, directions))), axis=0)
    calls, quiet, excess, budget = 4 * size, 0, 0.1, _WORK
    weights = np.full(len(pool), 1 / len(pool))
    for _ in range(_ROUNDS):
        weights, spent = _weigh((pool - pool[0]) @ basis.T, weights, max(excess / 10, _EXACT), budget)
        budget -= spent
        design = _design(pool, weights, basis, calls)
        found, spent = _climb(domain, design, rng)
        calls += spent
        leverages = design.leverage(found)
        excess = float(leverages.max()) / size - 1
        better = found[leverages > size * (1 + _EXCESS)]
        quiet = 0 if len(better) else quiet + 1
        if quiet == _QUIET or len(pool) + len(better) > _POOL or budget <= 0:
            break
        kept = weights > 0.0  # what has none and is not new is left out
        pool, weights = np.vstack((pool[kept], better)), np.concatenate((weights[kept], np.zeros(len(better))))
    return _design(np.vstack((pool, found)), np.concatenate((weights, np.zeros(len(found)))), basis, calls)


def _climb(domain: Domain, design: Design, rng: np.random.Generator) -> tuple[Matrix, int]:
    """Return vertices at which climbs end, and the oracle calls: leverage is convex, so each step goes up."""
    count = min(2 * design.dimension, _STARTS)
    heavy = rng.permutation(len(design.vertices))[:count]
    sides = np.vstack((rng.standard_normal((count, design.dimension)), _white(design, design.vertices[heavy])))
    ends, calls = [], 0
    for side in sides:
        reached = 0.0
        for _ in range(_STEPS):
            vertex = domain.extreme_point(-side @ design.whitening)
            calls += 1
            side = _white(design, vertex)
            leverage = float(side @ side)
            if leverage <= reached * (1 + 1e-9):
                break
            reached, end = leverage, vertex
        ends.append(end)
    return np.unique(ends, axis=0), calls


def _white(design: Design, x: Matrix) -> Matrix:
    return (x - design.mean) @ design.whitening.T


def _design(pool: Matrix, weights: Vector, basis: Matrix, calls: int) -> Design:
    """Drop what has no weight, and factorise the covariance of the rest."""
    support = weights > 1e-9
    vertices, shares = pool[support], weights[support] / weights[support].sum()
    mean = shares @ vertices
    local = (vertices - mean) @ basis.T
    _, lengths, axes = np.linalg.svd(np.sqrt(shares)[:, None] * local, full_matrices=False)
    whitening, factor = (axes / lengths[:, None]) @ basis, basis.T @ (axes.T * lengths)
    worst = np.square((pool - mean) @ whitening.T).sum(axis=1).max()
    return Design(vertices, shares, mean, whitening, factor, float(worst), calls)


def optimal_weights(rows: Matrix, weights: Vector, tolerance: float = _EXACT) -> Vector:
    """Return weights under which no row has a leverage above (1 + tolerance) d, nor one of positive weight far below.

    With a coordinate 1 put in front, leverages about the mean grow by 1, and the mean needs no care. Multiplicative
    steps (Titterington, 1976) come near; then single weights are raised or lowered, with exact line search
    (Todd, Yıldırım, 2007), which converges linearly and ends with few positive weights.
    """
    return _weigh(rows, weights, tolerance, math.inf)[0]


def _weigh(rows: Matrix, weights: Vector, tolerance: float, budget: float) -> tuple[Vector, float]:
    """Return the weights, and the multiplications that they took: a few more than the budget at most."""
    lifted = np.linalg.qr(np.column_stack((np.ones(len(rows)), rows)))[0]
    size = lifted.shape[1]
    steps = 30 if weights.all() else 0  # zeros would stay; they tell a start that is good already
    steps = min(steps, 1 + int(min(budget / (lifted.size * size), 30)))
    spent = float(steps * lifted.size * size)
    for _ in range(steps):
        weights = weights * _leverages(lifted, weights)[0] / size
        weights /= weights.sum()
    for step in range(20 * len(rows) + 1000):
        if spent > budget:
            break
        spent += 2 * lifted.size
        if step % 50 == 0:  # sweep away the rounding errors of the updates
            spent += lifted.size * size
            leverages, inverse = _leverages(lifted, weights)
        high, low = int(leverages.argmax()), int(np.where(weights > 0.0, leverages, math.inf).argmin())
        up, down = leverages[high] / size - 1, 1 - leverages[low] / size
        if max(up, down) <= tolerance:
            break
        chosen = high if up >= down else low
        value = float(leverages[chosen])
        share = (value - size) / (size * (value - 1)) if value > 1.0 else -math.inf
        share = max(share, -weights[chosen] / (1 - weights[chosen]))
        # Update the inverse of (1 - share) H + share x x', and with it all leverages (Sherman, Morrison).
        pulled = inverse @ lifted[chosen]
        shrink = share / (1 - share + share * value)
        leverages = (leverages - shrink * (lifted @ pulled) ** 2) / (1 - share)
        inverse = (inverse - shrink * np.multiply.outer(pulled, pulled)) / (1 - share)
        weights = weights * (1 - share)
        weights[chosen] += share
        weights[weights < 1e-12] = 0.0
    total = float(weights.sum())
    return weights / total, spent


def _leverages(lifted: Matrix, weights: Vector) -> tuple[Vector, Matrix]:
    inverse: Matrix = np.asarray(np.linalg.inv((lifted.T * weights) @ lifted), dtype=np.float64)
    leverages: Vector = np.einsum("ij,ij->i", lifted @ inverse, lifted)
    return leverages, inverse
