"""StudyWorkers: each open study is served by a thread of its own, and what arrives together is done together."""

from sottovoce.service.study_workers.answers import Layout
from sottovoce.service.study_workers.asking import AskOrder
from sottovoce.service.study_workers.open_books import OpenBook, OpenBooks, open_evaluations, open_study
from sottovoce.service.study_workers.requests import Requests
from sottovoce.service.study_workers.worker import StudyWorker

__all__ = [
    "AskOrder",
    "Layout",
    "OpenBook",
    "OpenBooks",
    "Requests",
    "StudyWorker",
    "open_evaluations",
    "open_study",
]
