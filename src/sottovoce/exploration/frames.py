"""Frames: a few orthonormal directions per round, each tried forwards and backwards, one number for each.

Per round draw m <= d orthonormal directions q_1 ... q_m, uniformly within the direction space. Consecutive events form
pairs: one plays +q_j, the other -q_j, which first is a fair coin; pairs go through the directions in shuffled order.
Every single event's direction u_t = s_t q_j is uniform on the sphere, so (d/radius) sum_t f_t u_t is unbiased for the
gradient of the smoothed loss, exactly as for independent directions, but all that is needed of the losses is one number
for each direction, c_j = sum of s_t f_t over its events. One event is in one number.

Pairing cancels the mean of the losses: what is left is half the difference of two neighbouring losses, small wherever
losses drift slowly. Energy of the estimate, with k events, v^2 half the mean squared difference of a pair's losses:

    E||g||^2 <= k a^2 v^2 + (d/m) min(d, d/(d-1)) k^2 L^2 + m a^2 Var(noise of a number),     a = d/radius.

Tests: tests/exploration/test_frames.py.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._checks import whole
from sottovoce.domains import Domain
from sottovoce.exploration.explorer import Draw, Exploration, Explorer, Probed, Record
from sottovoce.exploration.sphere import Sphere
from sottovoce.exploration.stage import Stage

__all__ = ["Frames", "haar_frame"]


def haar_frame(domain: Domain, count: int, coins: np.random.Generator) -> Floats:
    """Draw `count` orthonormal rows, uniformly, in the direction space of the domain.

    Parameters
    ----------
    domain
        The set.
    count
        How many, its dimension at most.
    coins
        Public ones.

    Examples
    --------
    >>> import sottovoce as sv
    >>> frame = haar_frame(sv.domains.Simplex(4), 3, np.random.default_rng(0))
    >>> bool(np.allclose(frame @ frame.T, np.eye(3)) and np.allclose(frame.sum(axis=1), 0.0))
    True
    """
    vectors = domain.tangent(coins.standard_normal((count, domain.dimension)))
    if count == 1:
        return np.asarray(vectors / np.linalg.norm(vectors))
    # QR of a Gaussian matrix is uniform once the signs of R's diagonal are taken out (Mezzadri 2007).
    frame, triangle = np.linalg.qr(vectors.T)
    return np.ascontiguousarray((frame * np.sign(np.diag(triangle))).T)


@dataclass(frozen=True)
class Frames(Explorer):
    """Rounds of a fixed size that explore along frames.

    Parameters
    ----------
    stage
        Where the play takes place; points and directions are in its working coordinates.
    radius, play
        As for `Sphere`.
    directions
        m, the directions of a round; at most d.
    batch_size
        k, the events of a round.
    middle
        A constant that is subtracted from every loss; it matters only for an event that has lost its pair.

    Examples
    --------
    >>> import sottovoce as sv
    >>> frames = Frames(Stage(sv.domains.Ball(3)), radius=0.1, directions=2, batch_size=8)
    >>> coins = np.random.default_rng(0)
    >>> exploration = frames.begin(np.zeros(3), 0, 8, coins)
    >>> draw = exploration.draw(coins, 8)
    >>> draw.actions.shape, draw.weights.total().tolist()  # forwards as often as backwards
    ((8, 3), [0, 0])
    """

    stage: Stage
    radius: float
    directions: int
    batch_size: int
    play: str = "inside"
    middle: float = 0.0

    def __post_init__(self) -> None:
        whole("directions", self.directions, most=self.stage.working.affine_dimension)
        whole("batch_size", self.batch_size)
        assert self._sphere  # refuses a radius that does not fit

    @cached_property
    def _sphere(self) -> Sphere:
        return Sphere(self.stage.working, self.radius, self.play)

    @property
    def scale(self) -> float:
        """d/radius: what turns loss times direction into a gradient estimate."""
        return self._sphere.scale

    def round_size(self, passed: int) -> int:
        """All rounds have the same size."""
        return self.batch_size

    def begin(self, point: Floats, passed: int, size: int, coins: np.random.Generator) -> "FrameExploration":
        """Draw the round's frame."""
        frame = haar_frame(self.stage.working, self.directions, coins)
        return FrameExploration(self.stage, self._sphere, self._sphere.inside(point), frame, self.middle)

    def resume(self, point: Floats, record: Record) -> "FrameExploration":
        """Return the round that `record` was taken of."""
        frame = np.asarray(record["frame"])
        exploration = FrameExploration(self.stage, self._sphere, self._sphere.inside(point), frame, self.middle)
        exploration.progress = np.asarray(record["waiting"], dtype=np.int64)
        return exploration


class FrameExploration(Exploration):
    """One round along one frame."""

    def __init__(self, stage: Stage, sphere: Sphere, point: Floats, frame: Floats, middle: float) -> None:
        self.numbers = len(frame)
        self._stage = stage
        self._sphere, self._point, self._frame, self._middle = sphere, point, frame, middle
        self.progress: Integers = np.empty((0, 2), dtype=np.int64)  # (direction, sign) of events that come next

    def draw(self, coins: np.random.Generator, size: int) -> Draw:
        """Return the next events: pairs, in shuffled order over the directions."""
        waiting = self.progress
        if size > len(waiting):
            waiting = np.concatenate([waiting, self._shuffle(coins, size - len(waiting))])
        index, sign = waiting[:size, 0], waiting[:size, 1]
        both = self._sphere.radius * np.concatenate([self._frame, -self._frame]) + self._point
        actions = self._stage.play(both, index + self.numbers * (sign < 0), coins)
        self.progress = waiting[size:]
        return Draw(actions, None, Probed(self.numbers, index, sign))

    def _shuffle(self, coins: np.random.Generator, least: int) -> Integers:
        """Return (direction, sign) rows: whole passes over the directions, a pair for each."""
        passes = -(-least // (2 * self.numbers))
        order = coins.permuted(np.tile(np.arange(self.numbers), (passes, 1)), axis=1).ravel()
        first = 2 * coins.integers(0, 2, size=len(order)) - 1
        return np.stack([np.repeat(order, 2), np.stack([first, -first], axis=1).ravel()], axis=1)

    def estimate(self, sums: Floats, weights: Floats) -> Floats:
        """Return (d/radius) sum_j c_j q_j."""
        return np.asarray(self._sphere.scale * (sums - self._middle * weights) @ self._frame)

    def record(self) -> Record:
        """Return the frame, and the directions of events that come next."""
        return {"frame": self._frame, "waiting": self.progress}

    def is_possible(self) -> bool:
        """Whether the directions are orthonormal, and along the set."""
        frame = self._frame
        flat = np.allclose(self._sphere.domain.tangent(frame), frame, atol=1e-8)
        return flat and np.allclose(frame @ frame.T, np.eye(len(frame)), atol=1e-8)

    def can_draw(self, draw: Draw, first: int) -> bool:
        """Whether they are pairs along the frame, and act where these lead; vertices may lie anywhere."""
        weights = draw.weights
        if not isinstance(weights, Probed) or weights.numbers != self.numbers or draw.wants_loss is not None:
            return False
        index, sign = weights.index, weights.sign
        if not ((np.abs(sign) == 1).all() and (index >= 0).all() and (index < self.numbers).all()):
            return False
        pairs = slice(first % 2, first % 2 + (len(index) - first % 2) // 2 * 2)
        index, sign = index[pairs].reshape(-1, 2), sign[pairs].reshape(-1, 2)
        if not ((index[:, 0] == index[:, 1]).all() and (sign.sum(axis=1) == 0).all()):
            return False
        if self._stage.integral:
            return True
        steps = self._sphere.radius * weights.sign[:, None] * self._frame[weights.index]
        return bool(np.allclose(draw.actions, self._stage.original(steps + self._point), atol=1e-9))

    def can_weigh(self, weights: Integers, size: int) -> bool:
        """Whether every event has its pair, but for the last of an odd number."""
        return int(np.abs(weights).sum()) == size % 2

    def counts(self, weights: Integers, size: int) -> tuple[Integers, Integers]:
        """Half of the events along each direction, in whole passes over the directions."""
        most = np.full(self.numbers, -(-size // (2 * self.numbers)))
        return most, most
