"""Checks a claim of privacy from outside: run the real optimizer, attack what it releases, count."""

from sottovoce.auditing.alignment import align
from sottovoce.auditing.checks import Check
from sottovoce.auditing.configurations import Configuration
from sottovoce.auditing.everything import Findings, audit_everything
from sottovoce.auditing.mechanisms import Mechanism
from sottovoce.auditing.noise_checks import check_noise
from sottovoce.auditing.owners import OwnersChannel
from sottovoce.auditing.parallel import Workers
from sottovoce.auditing.procedure import audit
from sottovoce.auditing.result import Audit
from sottovoce.auditing.shipped import mechanisms_alone, shipped
from sottovoce.auditing.studied import StudyConfiguration
from sottovoce.auditing.words import summary

__all__ = [
    "Audit",
    "Check",
    "Configuration",
    "Findings",
    "Mechanism",
    "OwnersChannel",
    "StudyConfiguration",
    "Workers",
    "align",
    "audit",
    "audit_everything",
    "check_noise",
    "mechanisms_alone",
    "shipped",
    "summary",
]
