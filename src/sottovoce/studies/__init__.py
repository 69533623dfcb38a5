"""Durable ask and tell: studies that survive."""

from sottovoce.studies.export import export, export_lines
from sottovoce.studies.status import Status
from sottovoce.studies.study import Study
from sottovoce.studies.verify import Verification, verify, verify_stored

__all__ = ["Status", "Study", "Verification", "export", "export_lines", "verify", "verify_stored"]
