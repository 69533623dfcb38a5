"""Clients of a service: `sottovoce.connect`, and a queue on disk for while it is away."""

from sottovoce.client._telling import Told
from sottovoce.client.connecting import connect
from sottovoce.client.remote_evaluations import RemoteEvaluations
from sottovoce.client.remote_study import RemoteStudy
from sottovoce.client.retries import Retries
from sottovoce.client.tell_queue import Refusal, TellQueue

__all__ = ["Refusal", "RemoteEvaluations", "RemoteStudy", "Retries", "TellQueue", "Told", "connect"]
