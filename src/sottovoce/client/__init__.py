"""Clients of a service: `sottovoce.connect`."""

from sottovoce.client.connecting import connect
from sottovoce.client.remote_evaluations import RemoteEvaluations
from sottovoce.client.remote_study import RemoteStudy
from sottovoce.client.retries import Retries

__all__ = ["RemoteEvaluations", "RemoteStudy", "Retries", "connect"]
