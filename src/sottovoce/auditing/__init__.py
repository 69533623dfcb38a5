"""Checks a claim of privacy from outside: run the real optimizer, attack what it releases, count."""

from sottovoce.auditing.alignment import align
from sottovoce.auditing.noise_checks import check_noise
from sottovoce.auditing.parallel import Workers
from sottovoce.auditing.procedure import audit
from sottovoce.auditing.results.audited import Audit
from sottovoce.auditing.results.check import Check
from sottovoce.auditing.results.findings import Findings, summary
from sottovoce.auditing.results.record import AuditRecord, findings_record, read_audit
from sottovoce.auditing.run_all import audit_all
from sottovoce.auditing.subjects.catalogue import mechanisms_alone, shipped
from sottovoce.auditing.subjects.configurations import Configuration
from sottovoce.auditing.subjects.counted import CountedConfiguration
from sottovoce.auditing.subjects.evaluated import EvaluationConfiguration, evaluations_shipped
from sottovoce.auditing.subjects.mechanism_alone import MechanismAlone
from sottovoce.auditing.subjects.owners import OwnersChannel
from sottovoce.auditing.subjects.studied import StudyConfiguration

__all__ = [
    "Audit",
    "AuditRecord",
    "Check",
    "Configuration",
    "CountedConfiguration",
    "EvaluationConfiguration",
    "Findings",
    "MechanismAlone",
    "OwnersChannel",
    "StudyConfiguration",
    "Workers",
    "align",
    "audit",
    "audit_all",
    "check_noise",
    "evaluations_shipped",
    "findings_record",
    "mechanisms_alone",
    "read_audit",
    "shipped",
    "summary",
]
