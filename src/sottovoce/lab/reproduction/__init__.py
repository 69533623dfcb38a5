"""The paper's claims: what is run for them, and how they are judged."""

from sottovoce.lab.reproduction.evidence import FAILS, HOLDS, UNSEEN, Evidence
from sottovoce.lab.reproduction.extent import LARGE, SMALL, Extent, judge, reproduction_grid
from sottovoce.lab.reproduction.lemmas import Base
from sottovoce.lab.reproduction.paper_claims import PaperClaim, claims

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
    "judge",
    "reproduction_grid",
]
