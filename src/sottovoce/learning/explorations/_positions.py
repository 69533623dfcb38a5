"""Which coordinates to consider: the set as it is, or in rounded position."""

from sottovoce.learning.planning.problem import Problem

__all__ = ["positions"]

_LOPSIDED = 1.5  # by how much rounding must improve outer over inner radius to be worth its coordinates
_ROUNDING_UP_TO = 400  # dimensions: a design costs the cube of them


def positions(problem: Problem, chosen: str | None) -> list[str]:
    """Return what was chosen; or plain, and rounded too where that makes the set rounder by enough."""
    if chosen is not None:
        return [chosen]
    domain = problem.domain
    plain = domain.outer_radius / domain.inner_radius
    if problem.play == "around" or plain <= 2.0 or domain.affine_dimension > _ROUNDING_UP_TO:
        return ["plain"]
    rounded = problem.stage("rounded")
    better = rounded.reach / rounded.working.inner_radius * _LOPSIDED < plain
    return ["plain", "rounded"] if better else ["plain"]
