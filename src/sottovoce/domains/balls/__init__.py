"""Balls of several norms, of matrices too, and boxes."""

from sottovoce.domains.balls.ball import Ball
from sottovoce.domains.balls.box import Box
from sottovoce.domains.balls.l1_ball import L1Ball
from sottovoce.domains.balls.nuclear_ball import NuclearBall

__all__ = ["Ball", "Box", "L1Ball", "NuclearBall"]
