"""What the balls of all norms share: a centre, a radius, and room in every direction."""

import numpy as np

from sottovoce.domains._flatness import Full
from sottovoce.domains._geometry.orbits import Orbit, even_orbit


class NormBall(Full):
    """A full set, symmetric about its centre, that reaches exactly `radius` far; a base for families of balls."""

    radius: float
    chosen_as = "amounts"

    @property
    def outer_radius(self) -> float:
        """The Euclidean distance from the centre to the farthest points."""
        return self.radius

    def orbit(self) -> Orbit:
        """Spread alike in all directions."""
        return even_orbit(np.eye(self.dimension), self.radius)

    @property
    def diameter(self) -> float:
        """Distance of opposite points."""
        return 2 * self.radius
