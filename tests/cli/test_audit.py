import json

import pytest

import sottovoce as sv
from sottovoce.auditing import Configuration
from sottovoce.cli import audit as audits
from sottovoce.cli import main


@pytest.fixture
def command(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(["audit", "--workers", "1", *arguments])
        printed = capsys.readouterr()
        return ended.value.code, printed.out, printed.err

    return call


def test_an_audit_shows_a_table_and_writes_findings_that_agree(command, tmp_path):
    code, out, err = command("--exploration", "frames", "--mechanism", "probe-sums", "--runs", "400", "--out", "here")
    assert (code, err) == (0, "")
    for words in ("claimed", "at least", "not refuted", "99.9% confidence", "never prove it", "2 events a person"):
        assert words in out
    assert (tmp_path / "here" / "audit.png").is_file()
    findings = json.loads((tmp_path / "here" / "audit.json").read_text())["audits"]
    assert [one["label"] for one in findings] == ["frames, probe-sums", "frames, probe-sums, 2 events a person"]
    for one in findings:
        assert one["passed"]
        assert one["runs"] == 400
        assert f"{one['epsilon_lower']:.3f}" in out


def test_simulated_noise_can_be_repeated_and_says_so(command, tmp_path):
    for out in ("a", "b"):
        code, printed, _ = command("--mechanism", "fresh", "--runs", "400", "--simulated-noise", "4", "--out", out)
        assert code == 0
        assert "(simulated noise)" in printed
    first, second = ((tmp_path / out / "audit.json").read_text() for out in ("a", "b"))
    assert first == second
    assert json.loads(first)["audits"][0]["simulated_noise"]


class FarTooLittleNoise(Configuration):
    """Claims epsilon = 1 and has the noise of epsilon = 20."""

    def __call__(self, seed, noise):
        optimizer = self._make(seed, noise, "auto", dict(self.choices))
        optimizer._problem = sv.learning.problem.Problem(self.domain, self.horizon, self.loss_range, sv.PureDP(1.0))
        return optimizer


def test_a_refuted_claim_ends_with_code_1(command, monkeypatch):
    broken = FarTooLittleNoise(
        sv.domains.Simplex(2), sv.PureDP(20.0), 8, {"exploration": "frames", "batch_size": 4}, label="broken"
    )
    monkeypatch.setattr(audits, "shipped", lambda *arguments, **options: [broken])
    code, out, _ = command("--runs", "400")
    assert code == 1
    assert "REFUTED" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--mechanism", "bush"], "mechanism must be one of 'probe-sums'"),
        (["--exploration", "designs", "--mechanism", "tree"], "no configuration has designs and tree"),
        (["--epsilon", "-1"], "epsilon must be greater than 0"),
        (["--runs", "many"], "runs must be a whole number"),
        (["--runs", "10"], "runs must be at least 400"),
        (["--workers", "0"], "workers must be at least 1"),
        (["--confidence", "1"], "confidence must be"),
    ],
)
def test_errors_are_one_line_and_name_what_to_do(command, arguments, message):
    code, _, err = command(*arguments)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1
