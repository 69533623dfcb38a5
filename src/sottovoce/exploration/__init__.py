"""From a point to actions that learn something, and from released numbers back to a gradient estimate."""

from sottovoce.exploration.sphere import Sphere, one_point_sum

__all__ = ["Sphere", "one_point_sum"]
