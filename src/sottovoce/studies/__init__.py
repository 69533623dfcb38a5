"""Durable ask and tell: studies that survive."""

from sottovoce.learning.status import Status
from sottovoce.rounds.book import Recorded
from sottovoce.studies.catalogue import (
    Catalogue,
    StudyEntry,
    delete_study,
    list_studies,
    move_study,
    prepare_storage,
    rename_study,
)
from sottovoce.studies.exporting import export_lines
from sottovoce.studies.history import History
from sottovoce.studies.statement import StudyStatement, state_stored
from sottovoce.studies.study import Study, TellCall
from sottovoce.studies.verifying.verification import Verification, verify_stored

__all__ = [
    "Catalogue",
    "History",
    "Recorded",
    "Status",
    "Study",
    "StudyEntry",
    "StudyStatement",
    "TellCall",
    "Verification",
    "delete_study",
    "export_lines",
    "list_studies",
    "move_study",
    "prepare_storage",
    "rename_study",
    "state_stored",
    "verify_stored",
]
