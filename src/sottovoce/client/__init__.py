"""Clients of a service: `sottovoce.connect`."""

from sottovoce.client.remote_study import RemoteStudy, connect
from sottovoce.client.retries import Retries

__all__ = ["RemoteStudy", "Retries", "connect"]
