"""The paper's claims: what is run for them, and how they are judged."""

from sottovoce.lab.reproduction.claims import PaperClaim, claims
from sottovoce.lab.reproduction.evidence import FAILS, HOLDS, UNSEEN, Evidence
from sottovoce.lab.reproduction.extent import LARGE, SMALL, Base, Extent, reproduction_grid

__all__ = [
    "FAILS",
    "HOLDS",
    "LARGE",
    "SMALL",
    "UNSEEN",
    "Base",
    "Evidence",
    "Extent",
    "PaperClaim",
    "claims",
    "reproduction_grid",
]
