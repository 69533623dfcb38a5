"""Durable ask and tell: studies that survive."""

from sottovoce.studies.calls.telling_each import Recorded, TellCall
from sottovoce.studies.catalogue import Catalogue, StudyEntry, list_studies, prepare_storage
from sottovoce.studies.course import Course
from sottovoce.studies.exporting import export_lines
from sottovoce.studies.segmented import SegmentedStudy
from sottovoce.studies.stating import StudyStatement, state_stored
from sottovoce.studies.status import Status
from sottovoce.studies.study import Study
from sottovoce.studies.verifying.verification import Verification, verify_stored

__all__ = [
    "Catalogue",
    "Course",
    "Recorded",
    "SegmentedStudy",
    "Status",
    "Study",
    "StudyEntry",
    "StudyStatement",
    "TellCall",
    "Verification",
    "export",
    "export_lines",
    "list_studies",
    "prepare_storage",
    "state_stored",
    "verify",
    "verify_stored",
]

export, verify = Study.export, Study.verify
