"""Durable ask and tell: studies that survive."""

from sottovoce.studies.status import Status
from sottovoce.studies.study import Study

__all__ = ["Status", "Study"]
