"""Balls of several norms, and boxes."""

from sottovoce.domains.balls.ball import Ball
from sottovoce.domains.balls.box import Box
from sottovoce.domains.balls.k_sparse import KSparse
from sottovoce.domains.balls.l1_ball import L1Ball
from sottovoce.domains.balls.linf_ball import LInfBall

__all__ = ["Ball", "Box", "KSparse", "L1Ball", "LInfBall"]
