"""Balls, of matrices too, and boxes."""

from sottovoce.domains.balls.ball import Ball
from sottovoce.domains.balls.box import Box
from sottovoce.domains.balls.nuclear_ball import NuclearBall

__all__ = ["Ball", "Box", "NuclearBall"]
