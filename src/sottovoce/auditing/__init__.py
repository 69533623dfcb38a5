"""Checks a claim of privacy from outside: run the real optimizer, attack what it releases, count."""

from sottovoce.auditing.configurations import Configuration
from sottovoce.auditing.mechanisms import Mechanism
from sottovoce.auditing.parallel import Workers
from sottovoce.auditing.procedure import audit
from sottovoce.auditing.result import Audit
from sottovoce.auditing.shipped import shipped

__all__ = ["Audit", "Configuration", "Mechanism", "Workers", "audit", "shipped"]
