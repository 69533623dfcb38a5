"""Geometry as plain records; nothing here has ever seen a loss."""

from typing import Any

import numpy as np

from sottovoce._records import Record
from sottovoce.domains import Domain
from sottovoce.domains.design import Design, adopt_design, known_design
from sottovoce.errors import StateRefused
from sottovoce.learning.epoch import Epoch
from sottovoce.plans.problem import forget_rounded

_DESIGN = ("vertices", "weights", "mean", "whitening", "factor")


def refuse_secrets(epoch: Epoch) -> None:
    """Refuse a mechanism whose open nodes or buffers hold un-noised sums of rounds that are long over."""
    if epoch.keeps_secrets:
        raise StateRefused(
            f"mechanism={epoch.plan.mechanism!r} keeps un-noised sums from one round to the next, which must not be "
            "stored: use probe sums (the default), mechanism='fresh', or LocalDP"
        )


def design_record(epoch: Epoch) -> Record:
    """Return the design behind rounded coordinates, if the epoch works in them: they must not change."""
    if epoch.placement.rounded is None:
        return {}
    design = epoch.placement.rounded.design
    arrays = {f"design.{name}": getattr(design, name) for name in _DESIGN}
    return {**arrays, "design.worst_leverage": design.worst_leverage, "design.calls": design.calls}


def adopt(domain: Domain, record: Record) -> None:
    """Let a domain work in the rounded coordinates that were stored, if any were, whatever was computed before."""
    if "design.mean" not in record:
        return
    arrays: dict[str, Any] = {name: np.array(record[f"design.{name}"]) for name in _DESIGN}
    known = known_design(domain)
    if known is not None and all(np.array_equal(getattr(known, name), array) for name, array in arrays.items()):
        return
    leverage, calls = record["design.worst_leverage"], record["design.calls"]
    adopt_design(domain, Design(**arrays, worst_leverage=leverage, calls=calls))
    forget_rounded()
