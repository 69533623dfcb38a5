import json

import pytest

import sottovoce as sv
from planted import Shortened
from sottovoce.auditing import Configuration, run_all
from sottovoce.service import audited


@pytest.mark.long
def test_an_audit_shows_a_table_and_writes_findings_that_agree(command, monkeypatch, tmp_path):
    """With two of the designs; `tests/auditing/test_audit.py` audits all that ships, one by one."""
    shown = {"designs, probe-sums, 2 events a person", "integral designs, probe-sums"}
    every = run_all.shipped

    def two_of(*arguments, **options):
        return [one for one in every(*arguments, **options) if one.label in shown]

    monkeypatch.setattr(run_all, "shipped", two_of)
    code, out, err = command("--only", "designs", "--runs", "400", "--out", "here")
    assert (code, err) == (0, "")
    printed = " ".join(out.split())
    for words in ("claimed", "at least", "not refuted", "never prove it", "2 events a person", "could see", "Not seen"):
        assert words in printed
    written = json.loads((tmp_path / "here" / "audit.json").read_text())
    assert shown <= {one["label"] for one in written["audits"]}
    assert written["passed"]
    assert written["confidence"] == 0.999
    assert any("probability 0.001 at most" in words for words in written["words"])
    for one in written["audits"]:
        assert one["passed"]
        assert f"{one['epsilon_lower']:.3f}" in out
    assert {one["kind"] for one in written["checks"]} == {"alignment"}


COMMAND = ("audit", "--workers", "1")
SMALL = Configuration(
    sv.domains.Simplex(2), sv.PureDP(1.0), 8, {"exploration": "frames", "batch_size": 4}, label="small"
)


@pytest.fixture
def only(monkeypatch):
    """Let an audit go through one subject, and nothing else."""

    def audits(subject):
        monkeypatch.setattr(run_all, "shipped", lambda *arguments, **options: [subject])
        for others in ("evaluations_shipped", "mechanisms_alone"):
            monkeypatch.setattr(run_all, others, lambda *arguments: [])
        monkeypatch.setattr(audited, "service_shipped", lambda *arguments: [])

    return audits


class Broken(Configuration):
    def __call__(self, seed, noise):
        return super().__call__(seed, Shortened(noise, 1 / 20))


def test_a_refuted_claim_ends_with_code_1(command, only):
    broken = Broken(SMALL.domain, SMALL.privacy, 8, SMALL.choices, label="broken")
    only(broken)
    code, out, _ = command("--runs", "400", "--simulated-noise", "1")
    assert code == 1
    assert "REFUTED: broken" in out


def test_an_interrupt_keeps_what_was_finished(command, only, monkeypatch, tmp_path):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    only(SMALL)
    monkeypatch.setattr(run_all, "audit", interrupt)
    code, out, _ = command("--runs", "400", "--simulated-noise", "1")
    assert code == 130
    assert "what was finished is kept" in out
    assert not json.loads((tmp_path / "results" / "audit" / "audit.json").read_text())["complete"]
