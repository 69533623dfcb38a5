"""The public names, and where they live: what type checkers read, and what is loaded when it is first used."""

from sottovoce.auditing.alignment import align as align
from sottovoce.auditing.noise_checks import check_noise as check_noise
from sottovoce.auditing.procedure import audit as audit
from sottovoce.auditing.results import Audit as Audit
from sottovoce.auditing.results import Check as Check
from sottovoce.auditing.results import (
    Findings as Findings,
    summary as summary,
)
from sottovoce.auditing.record import (
    AuditRecord as AuditRecord,
    findings_record as findings_record,
    read_audit as read_audit,
)
from sottovoce.auditing.run_all import audit_all as audit_all
from sottovoce.auditing.subjects.catalogue import (
    evaluations_shipped as evaluations_shipped,
    mechanisms_alone as mechanisms_alone,
    shipped as shipped,
)
from sottovoce.auditing.subjects.configurations import Configuration as Configuration
from sottovoce.auditing.subjects.evaluated import EvaluationConfiguration as EvaluationConfiguration
from sottovoce.auditing.subjects.alone import MechanismAlone as MechanismAlone
