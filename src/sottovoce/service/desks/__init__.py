"""Desks: each open study is served by a thread of its own, and what arrives together is done together."""

from sottovoce.service.desks.asking import Answer, AskOrder, Layout
from sottovoce.service.desks.desk import Desk
from sottovoce.service.desks.evaluations import OpenEvaluations
from sottovoce.service.desks.pool import Desks
from sottovoce.service.desks.requests import Requests

__all__ = ["Answer", "AskOrder", "Desk", "Desks", "Layout", "OpenEvaluations", "Requests"]
