"""Does a domain keep its promises? Ask it, and compare its answers with each other.

Tests: tests/domains/test_check.py.
"""

import math
from dataclasses import dataclass

import numpy as np

from sottovoce._arrays import Floats, Vector
from sottovoce.domains._geometry.hull import Oracle
from sottovoce.domains.base import Domain
from sottovoce.domains.oracles import calls_of_this_thread, watched_calls
from sottovoce.errors import DomainError
from sottovoce.projection import project
from sottovoce.projection.result import CLOSED_GAP

_SLACK = 1e-6  # of the extent of the set: what is forgiven to rounding, and to solvers that stop before the optimum
_LARGE = 400  # dimension from which the projection on the affine hull is not formed as a matrix
_FALSE_ALARM = 1e-9  # probability with which honest rounding would be accused, for any one coordinate


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Costs that an oracle was asked about, and the points that it returned."""

    costs: Floats
    points: Floats

    @property
    def slack(self) -> float:
        """Distance below which two points count as one."""
        return _SLACK * float(np.linalg.norm(np.ptp(self.points, axis=0))) + 1e-12 * float(np.abs(self.points).max())


@dataclass(frozen=True)
class DomainCheck:
    """What `check_domain` saw of a domain in which it found no contradiction; `print` it.

    Attributes
    ----------
    domain
        Which one, as it prints itself.
    calls
        Of its oracle.
    off
        By how much an answer was dearer than another, at most, as a share of the extent of the set.
    """

    domain: str
    calls: int
    off: float

    def __str__(self) -> str:
        optimal = f"answers are optimal to {self.off:.1g} of the extent of the set ({_SLACK:g} is allowed)"
        return f"{self.domain}: no contradiction in {self.calls:,} calls of its oracle; {optimal}"


def check_domain(domain: Domain) -> DomainCheck:
    """Look for contradictions between what a domain's methods say; return what was compared if there are none.

    The oracle must return finite points of the right shape, give one cost one answer, and never an answer that is
    dearer than another of its own. The geometry must agree with it: `center`, `inner_radius`,
    `outer_radius`, `diameter`, `affine_dimension` and `tangent`, and so must `contains` and `round`. It is a test by
    examples, with a fixed seed: it proves nothing, but few lies survive it. Answers
    may be off by a millionth of the extent of the set. At a terminal it says, after a second, how often it has asked.

    Parameters
    ----------
    domain : Domain
        Your domain.

    Returns
    -------
    DomainCheck

    Raises
    ------
    DomainError
        Names the first contradiction that was found.

    Examples
    --------
    >>> from sottovoce.domains import Simplex
    >>> class Wrong(Simplex):
    ...     inner_radius = 0.5
    >>> print(check_domain(Simplex(4)))
    Simplex(4): no contradiction in 291 calls of its oracle; answers are optimal to 0 of the extent of the set ...
    >>> check_domain(Wrong(4))
    Traceback (most recent call last):
    ...
    sottovoce.errors.DomainError: inner_radius is 0.5, but the set has no more than 0.288675 of room around its center
    """
    if not isinstance(domain, Domain):
        raise TypeError(f"domain must be a Domain, got {domain!r}")
    if not isinstance(domain.dimension, int | np.integer) or domain.dimension < 1:
        raise DomainError(f"dimension must be a whole number of at least 1, got {domain.dimension!r}")
    before = calls_of_this_thread()
    with watched_calls(f"checking {domain!r}"):
        rng = np.random.default_rng(1)
        answers = probe_oracle(domain.extreme_point, domain.dimension, probes=12)
        _ask_hard_costs(domain, answers)
        _check_tangent(domain, answers, rng)
        _check_inner(domain, answers, rng)
        _check_outer(domain, answers)
        _check_contains(domain, answers)
        _check_round(domain, answers, rng)
    return DomainCheck(repr(domain), calls_of_this_thread() - before, _refuse_dearer(answers))


def probe_oracle(oracle: Oracle, dimension: int, probes: int = 4) -> Answers:
    """Ask in random directions and back, and then out toward every answer: no answer may be dearer than another.

    A point outside the set is the cheapest of all in its own direction from the middle; the oracle, asked there,
    contradicts itself.
    """
    half = np.random.default_rng(0).standard_normal((probes, dimension))
    first = _asked(oracle, np.vstack((half, -half)))
    _refuse_dearer(first)
    outward = first.points.mean(axis=0) - first.points
    second = _asked(oracle, outward[np.linalg.norm(outward, axis=1) > first.slack])
    both = Answers(np.vstack((first.costs, second.costs)), np.vstack((first.points, second.points)))
    _refuse_dearer(both)
    _refuse_drift(_ask(oracle, both.costs[0]), both.points[0], both.slack)
    return both


def _refuse_drift(again: Vector, before: Vector, slack: float) -> None:
    apart = math.dist(again, before)
    if apart > slack:
        raise DomainError(
            f"the oracle is not a function of the cost: asked twice, it returned points {apart:.3g} apart; "
            "break ties, and stop iterations, always in the same way"
        )


def _asked(oracle: Oracle, costs: Floats) -> Answers:
    kept = [_ask(oracle, cost) for cost in costs]
    return Answers(costs, np.array(kept).reshape(len(costs), costs.shape[1]))


def _ask(oracle: Oracle, cost: Vector) -> Vector:
    """Return a copy of the answer; refuse one that is not a point."""
    answer = np.array(oracle(cost.copy()), dtype=np.float64)
    if answer.shape != cost.shape:
        raise DomainError(f"the oracle must return an array of shape {cost.shape}, got {answer.shape}")
    if not np.isfinite(answer).all():
        raise DomainError(f"the oracle must return finite coordinates, got {answer!r}")
    return answer


def _refuse_dearer(answers: Answers) -> float:
    """Return by how much an answer is dearer than another, as a share of all that they differ by; refuse too much."""
    values = answers.costs @ answers.points.T
    own = np.einsum("ij,ij->i", answers.costs, answers.points)
    worst, extent = float((own - values.min(axis=1)).max()), float(np.ptp(values))
    if worst > _SLACK * extent + 1e-12 * np.abs(values).max():
        raise DomainError(
            f"the oracle does not minimise <cost, x>: another of its answers is cheaper by {worst:.3g}, and "
            f"{_SLACK * extent:.3g} is allowed; if it maximises, give it the negative of the cost; and see that "
            f"{CLOSED_GAP}"
        )
    return worst / extent if extent else 0.0


def _ask_hard_costs(domain: Domain, answers: Answers) -> None:
    """Ask at zero and along the axes; and again later, when the oracle has seen other costs."""
    axes = np.eye(domain.dimension)[:20]
    hard = _asked(domain.extreme_point, np.vstack((np.zeros_like(axes[:1]), axes, -axes)))
    _refuse_dearer(Answers(np.vstack((answers.costs, hard.costs)), np.vstack((answers.points, hard.points))))
    for seen, cost in zip(hard.points[::-1], hard.costs[::-1], strict=True):
        _refuse_drift(_ask(domain.extreme_point, cost), seen, answers.slack)


def _check_tangent(domain: Domain, answers: Answers, rng: np.random.Generator) -> None:
    """The projection on the affine hull: symmetric, idempotent, of rank d, and the set varies in its range only."""
    n, d = domain.dimension, domain.affine_dimension
    if not 0 <= d <= n:
        raise DomainError(f"affine_dimension must be between 0 and dimension {n}, got {d}")
    rows = np.eye(n) if n <= _LARGE else rng.standard_normal((10, n))
    image = domain.tangent(rows)
    if image.shape != rows.shape or not np.isfinite(image).all():
        raise DomainError(f"tangent must return finite rows of shape {rows.shape}, got shape {image.shape}")
    products = image @ rows.T
    if not (np.allclose(products, products.T, atol=1e-6 * n) and np.allclose(domain.tangent(image), image, atol=1e-6)):
        raise DomainError("tangent is not an orthogonal projection")
    if n <= _LARGE and abs(np.trace(image) - d) > 1e-4:
        raise DomainError(f"tangent projects on {np.trace(image):.6g} dimensions, but affine_dimension is {d}")
    apart = answers.points - answers.points[0]
    if np.linalg.norm(apart - domain.tangent(apart), axis=1).max() > answers.slack:
        raise DomainError("tangent does not leave the differences of the oracle's answers alone")
    for direction in _unit(domain.tangent(rng.standard_normal((5, n)))):
        width = direction @ (domain.extreme_point(-direction) - domain.extreme_point(direction))
        if width <= 1e-3 * answers.slack:
            raise DomainError("the set is flat in a direction that tangent keeps")


def _check_inner(domain: Domain, answers: Answers, rng: np.random.Generator) -> None:
    """The centre is inside, and every supporting hyperplane is at least the inner radius away from it.

    The nearest hyperplane is looked for: from a point beyond the boundary, the projection's normal leads to a face.
    """
    center, radius = np.asarray(domain.center), domain.inner_radius
    if center.shape != (domain.dimension,) or not np.isfinite(center).all():
        raise DomainError(f"center must be a finite vector of shape ({domain.dimension},), got {center!r}")
    if not radius >= 0.0:
        raise DomainError(f"inner_radius must not be negative, got {radius!r}")
    nearest = project(domain.extreme_point, center, gap=(answers.slack / 4) ** 2)
    if math.dist(center, nearest.point) > answers.slack:
        raise DomainError(f"center is not in the set, but {math.dist(center, nearest.point):.3g} away from it")
    axes = np.eye(domain.dimension)[:50]
    starts = _unit(domain.tangent(np.vstack((rng.standard_normal((20, domain.dimension)), axes, -axes))))
    room = [float(side @ (domain.extreme_point(-side) - center)) for side in starts]
    least = min(room, default=0.0)
    for i in np.argsort(room)[:5]:
        side, reach = starts[i], room[i]
        for _ in range(5):
            beyond = center + 1.1 * reach * side
            normal = domain.tangent(beyond - project(domain.extreme_point, beyond).point)
            found = _unit(normal[None] / max(reach, answers.slack))
            if not len(found):
                break
            side = found[0]
            reach = float(side @ (domain.extreme_point(-side) - center))
            least = min(least, reach)
    if radius > least + answers.slack:
        raise DomainError(
            f"inner_radius is {radius:g}, but the set has no more than {least:.6g} of room around its center"
        )
    if radius == 0.0 and domain.affine_dimension > 0:
        raise DomainError("inner_radius is 0, but the set is more than a point: choose a center inside")


def _check_outer(domain: Domain, answers: Answers) -> None:
    """No answer is beyond the outer radius, nor two beyond the diameter; far ones are looked for by climbing."""
    far, center = list(answers.points), np.asarray(domain.center)
    for point in answers.points[:8]:
        for _ in range(3):
            point = domain.extreme_point(center - point)
            far += [point, domain.extreme_point(point - center)]
    rows = np.array(far)
    reach = float(np.linalg.norm(rows - center, axis=1).max())
    if not domain.outer_radius >= reach - answers.slack:
        raise DomainError(f"outer_radius is {domain.outer_radius:g}, but a vertex is {reach:.6g} from the center")
    across = max(float(np.linalg.norm(rows - point, axis=1).max()) for point in rows)
    if not domain.diameter >= across - answers.slack:
        raise DomainError(f"diameter is {domain.diameter:g}, but two vertices are {across:.6g} apart")


def _check_contains(domain: Domain, answers: Answers) -> None:
    tolerance = 10 * answers.slack or 1e-6
    for point in (*answers.points[:10], answers.points.mean(axis=0), domain.center):
        if not domain.contains(point, tolerance):
            raise DomainError("contains says that an answer of the oracle, or a mean of answers, is outside the set")
    for cost, point in zip(answers.costs[:10], answers.points[:10], strict=True):
        outside = point - 3 * tolerance * cost / np.linalg.norm(cost)
        if domain.contains(outside, tolerance):
            raise DomainError("contains says that a point is inside the set that is cheaper than the oracle's answer")


def _check_round(domain: Domain, answers: Answers, rng: np.random.Generator) -> None:
    """Draws are points of the set; by Hoeffding their mean differs from x by more than the slack hardly ever."""
    n = domain.dimension
    draws = int(np.clip(4_000_000 // n, 50, 2000))
    x = rng.dirichlet(np.full(len(answers.points), 0.3)) @ answers.points
    drawn = np.asarray(domain.round(x, rng, size=draws))
    if drawn.shape != (draws, n) or not np.isfinite(drawn).all():
        raise DomainError(f"round must return finite points of shape ({draws}, {n}), got shape {drawn.shape}")
    own = np.einsum("ij,ij->i", answers.costs, answers.points)
    lengths = np.linalg.norm(answers.costs, axis=1)
    if ((answers.costs @ drawn.T).min(axis=1) < own - 10 * answers.slack * lengths).any():
        raise DomainError("round draws points that are cheaper than the oracle's answers, so outside the set")
    allowed = _widths(domain) * math.sqrt(math.log(2 / _FALSE_ALARM) / (2 * draws)) + 10 * answers.slack
    off = np.abs(drawn.mean(axis=0) - x)
    if (off > allowed).any():
        i = int((off - allowed).argmax())
        raise DomainError(f"round must draw with mean x: of {draws} draws the mean is off by {off[i]:.3g} at {i}")


def _widths(domain: Domain) -> Vector:
    """Return, for every coordinate, an upper bound on how much it varies."""
    if domain.dimension > _LARGE:
        return np.full(domain.dimension, domain.diameter)
    axes = np.eye(domain.dimension)
    return np.array([axis @ (domain.extreme_point(-axis) - domain.extreme_point(axis)) for axis in axes])


def _unit(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1)
    kept: Floats = rows[lengths > 1e-6] / lengths[lengths > 1e-6, None]
    return kept
