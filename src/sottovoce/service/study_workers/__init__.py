"""StudyWorkers: each open study is served by a thread of its own, and what arrives together is done together."""

from sottovoce.service.study_workers.answers import Layout
from sottovoce.service.study_workers.asking import Answer, AskOrder
from sottovoce.service.study_workers.evaluations import OpenEvaluations
from sottovoce.service.study_workers.pool import StudyWorkers
from sottovoce.service.study_workers.requests import Requests
from sottovoce.service.study_workers.worker import StudyWorker

__all__ = ["Answer", "AskOrder", "Layout", "OpenEvaluations", "Requests", "StudyWorker", "StudyWorkers"]
