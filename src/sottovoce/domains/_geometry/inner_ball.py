"""A ball inside a set that is known by its linear oracle, with proof.

Both certificates rest on vertices v_j of the set with weights p_j, mean c and covariance S (within the affine hull).

*Design.* A displacement w is c + w = sum of p_j (1 + <S^-1 (v_j - c), w>) v_j. That is a convex combination whenever
||w|| <= 1 / max_j ||S^-1 (v_j - c)||. The best weights are an A-optimal design: max_j ||S^-1 (v_j - c)||^2 >=
trace S^-1, with equality exactly where the trace is least (Kiefer's equivalence theorem). Exact for a simplex.

*Reflection.* If the set also holds every c - a (v_j - c), the negative terms of
w = sum of p_j <S^-1 (v_j - c), w> (v_j - c) can be paid with those points instead. Positive and negative terms have the
same sum, so all of it costs at most (1 + 1/a)/2 times sum of p_j |<S^-1 (v_j - c), w>| <= sqrt(w' S^-1 w), and c + w is
inside for ||w|| <= 2a/(1 + a) sqrt(least eigenvalue of S). Exact for a cube; better than the design wherever the set is
not too lopsided.
"""

from dataclasses import dataclass

import numpy as np

from sottovoce._arrays import Matrix, Vector
from sottovoce.domains._geometry.hull import SEED, Hull, Oracle, both_ways
from sottovoce.projection import project

_WORK = 5e8  # multiplications spent on weights
_REFLECTIONS = 30_000  # largest (vertices x dimension) for which every vertex is reflected, at one projection each
_ROUNDS = 3
_CAUTION = 1e-7  # given away to rounding: the thinnest sets have a condition number of 1e9


@dataclass(frozen=True, slots=True, eq=False)
class InnerBall:
    """A ball that, within the affine hull, lies in the set."""

    center: Vector
    radius: float


def inner_ball(oracle: Oracle, hull: Hull) -> InnerBall:
    """Find a centre, and a certified radius of a ball around it; a single point has radius 0."""
    if len(hull.basis) == 0:
        return _ball_at(hull.vertices[0], 0.0)
    rng = np.random.default_rng(SEED + 1)
    n = hull.basis.shape[1]
    directions = np.vstack((np.eye(n), rng.standard_normal((n, n)))) @ hull.basis.T @ hull.basis
    pool = np.unique(np.vstack((hull.vertices, both_ways(oracle, directions))), axis=0)
    weights = np.full(len(pool), 1 / len(pool))
    best = _ball_at(pool[0], 0.0)
    for number in range(_ROUNDS):
        if number:
            pool, weights = _climb(oracle, hull, pool, weights)
        origin = pool.mean(axis=0)
        weights, radius = _a_optimal((pool - origin) @ hull.basis.T, weights)
        if radius > best.radius:
            best = _ball_at(weights @ pool, radius)
    mirrored = _reflection(oracle, hull, pool, weights, best.radius)
    return mirrored if mirrored.radius > best.radius else best


def _ball_at(center: Vector, radius: float) -> InnerBall:
    center = np.array(center)
    center.setflags(write=False)
    return InnerBall(center, radius * (1 - _CAUTION))


def _isotropic(local: Matrix) -> tuple[Matrix, Matrix]:
    """Return T and the rows times T, as good as uncorrelated: lopsided sets would spoil S^-1 = T (T'S T)^-1 T'."""
    _, lengths, axes = np.linalg.svd(local - local.mean(axis=0), full_matrices=False)
    transform = axes.T / lengths
    return transform, local @ transform


def _moments(rows: Matrix, weights: Vector) -> tuple[Matrix, Matrix]:
    """Return the rows less their weighted mean, and their covariance."""
    centred = rows - weights @ rows
    return centred, (centred.T * weights) @ centred


def _a_optimal(local: Matrix, weights: Vector) -> tuple[Vector, float]:
    """Reweight multiplicatively toward the A-optimal design; return the best weights met, and their radius.

    Each weight is multiplied by the root of its sensitivity, ||S^-1 (v_j - c)||: the trace never rises
    (Silvey, Titterington, Torsney, 1978).
    """
    transform, rows = _isotropic(local)
    best_weights, best_radius = weights, 0.0
    for _ in range(int(np.clip(_WORK / (local.size * local.shape[1]), 5, 200))):
        centred, covariance = _moments(rows, weights)
        sensitivity = np.linalg.norm(transform @ np.linalg.solve(covariance, centred.T), axis=0)
        worst = float(sensitivity.max())
        if 1 / worst > best_radius:
            best_weights, best_radius = weights, 1 / worst
        if worst**2 <= 1.002 * (weights @ sensitivity**2):
            break
        weights = weights * sensitivity
        weights /= weights.sum()
    return best_weights, best_radius


def _climb(oracle: Oracle, hull: Hull, pool: Matrix, weights: Vector) -> tuple[Matrix, Vector]:
    """Add vertices that a better design would use: from the heavy ones, step up ||S^-1 (v - c)||^2, convex in v."""
    transform, rows = _isotropic((pool - pool.mean(axis=0)) @ hull.basis.T)
    centred, covariance = _moments(rows, weights)
    heavy = np.argsort(-weights)[: 2 * len(hull.basis)]
    sensitivity = transform @ np.linalg.solve(covariance, centred[heavy].T)
    uphill = (transform @ np.linalg.solve(covariance, transform.T @ sensitivity)).T @ hull.basis
    larger, where = np.unique(np.vstack((pool, both_ways(oracle, uphill))), axis=0, return_inverse=True)
    kept = np.full(len(larger), 0.2 / len(larger))
    np.add.at(kept, where[: len(pool)], 0.8 * weights)
    return larger, kept


def _reflection(oracle: Oracle, hull: Hull, pool: Matrix, weights: Vector, least: float) -> InnerBall:
    """Return the ball of the reflection certificate; radius 0 if it will not pass `least` or is too dear."""
    heavy = weights >= 0.1 / len(weights)
    pool, weights = pool[heavy], weights[heavy] / weights[heavy].sum()
    if pool.size > _REFLECTIONS or len(pool) <= len(hull.basis):
        return _ball_at(pool[0], 0.0)
    center = weights @ pool
    spread = float(np.linalg.svd(np.sqrt(weights)[:, None] * ((pool - center) @ hull.basis.T), compute_uv=False)[-1])
    share, slack = 1.0, 1e-4 * spread
    for vertex in pool:
        if 2 * share / (1 + share) * spread <= least:
            return _ball_at(center, 0.0)
        share = reach(oracle, center, center - vertex, share, slack)
    # Reflected points are inside up to the slack only; they carry less than all the weight, so w moves by less than it.
    return _ball_at(center, 2 * share / (1 + share) * spread - slack)


def reach(oracle: Oracle, center: Vector, direction: Vector, share: float, slack: float) -> float:
    """Return the largest t <= share with center + t * direction inside, up to the slack, by Newton's method.

    While the point is outside, the hyperplane at its projection separates it, and the ray crosses that one nearer.
    """
    for _ in range(50):
        point = center + share * direction
        nearest = project(oracle, point, gap=(slack / 4) ** 2)
        normal = point - nearest.point
        if np.linalg.norm(normal) <= slack:
            return share
        crossing = float(normal @ (oracle(-normal) - center)) / float(normal @ direction)
        share = max(min(crossing, share * (1 - 1e-9)), 0.0)
    return 0.0
