"""How often the linear oracle is called, against the paper's one call for each event."""

__all__ = ["OPEN_LOOP", "POLYTOPE"]

OPEN_LOOP = "paper-no-noise:method=open-loop"
"""Conditional gradient with the steps 2/(k + 2) of its textbook proof, which the paper cites."""

POLYTOPE = "slate:items=20,slots=5"
"""A set of vertices, as the paper has in mind: oracle calls on a ball are few."""
