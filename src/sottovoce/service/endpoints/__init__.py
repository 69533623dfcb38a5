"""What can be called over HTTP: each endpoint is declared once, with what it reads, answers, needs and refuses."""

from sottovoce.service.endpoints.evaluations import evaluation_routes
from sottovoce.service.endpoints.operations import operation_routes
from sottovoce.service.endpoints.studies import study_routes

__all__ = ["evaluation_routes", "operation_routes", "study_routes"]
