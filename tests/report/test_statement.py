"""What a privacy officer signs: facts on record, loudly what must not be overlooked, and nothing private."""

import json
import sqlite3
from datetime import UTC, datetime

import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from sottovoce.auditing import Findings, findings_record, read_audit
from sottovoce.auditing.results import Check
from sottovoce.cli.app import main
from sottovoce.privacy import read_ledger
from sottovoce.privacy._ledger_file import LedgerFile
from sottovoce.report import statement, statement_page
from sottovoce.studies import state_stored

MOMENT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
SECRET = 0.4217  # a loss that must be nowhere


def make(folder, name="spring", *, rounds=2, privacy=None, **options):
    """A study with a few released rounds and one that is open; the losses of that one are `SECRET`."""
    url = f"sqlite:///{folder / 'a.db'}"
    facts = {"domain": sv.domains.Simplex(4), "horizon": 10_000, "loss_range": (0.0, 1.0), "losses": "linear"}
    with sv.Study.open(url, name=name, privacy=privacy or sv.PureDP(1.0), **{**facts, **options}) as study:
        for _ in range(rounds):
            block = study.ask_round()
            study.tell(block.ids, np.full(len(block), 0.5))
        last = study.ask(3)
        study.tell(last.ids, [SECRET] * 3)
    return url


def shown(url, name="spring", **options):
    return str(statement(state_stored(url, name, verify=options.pop("verify", False)), moment=MOMENT, **options))


@pytest.fixture
def command(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            main(["statement", *map(str, arguments)])
        printed = capsys.readouterr()
        return end.value.code, printed.out, printed.err

    return run


def test_the_statement_says_what_the_study_says_changes_nothing_and_draws_no_noise(tmp_path, monkeypatch):
    """Not a byte of the storage differs, and rounds stay as they are."""
    url = make(tmp_path)
    with sv.Study.open(url, name="spring") as study:
        expected, status = study.privacy, study.status()
        assert study.statement() == state_stored(url, "spring")
        assert statement(study, moment=MOMENT) == statement(state_stored(url, "spring"), moment=MOMENT)

    def refuse(*arguments, **options):
        raise AssertionError("a statement draws noise")

    before = (tmp_path / "a.db").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(sv.SecureNoise, "sampler", refuse)
        said = " ".join(shown(url).split())
    assert (tmp_path / "a.db").read_bytes() == before
    for row, text in expected.rows:
        if row != "Not covered":
            assert " ".join(text.split()) in said
    for words in (
        *expected.not_covered,
        f"{status.asked:,} of 10,000 were handed out, or reserved to be",
        f"{status.round} released, 1 open",
        "from 50% to at most 73%",
        "Made on 2026-03-01 at 09:30 UTC",
        f"sottovoce {sv.__version__}, OpenDP ",
    ):
        assert words in said
    assert "NOT PRIVATE" not in said
    sv.Study.open(url, name="spring", restored=True).close()
    said = " ".join(shown(url).split())
    assert "restored from a backup, or copied: 1 round dropped unreleased" in said
    assert "not the first" in said


def test_no_loss_and_no_token_is_on_the_page(tmp_path):
    ledger = sv.Ledger(sv.PureDP(3.0), tmp_path / "people.ledger")
    url = make(tmp_path, ledger=ledger)
    page = statement_page(
        tmp_path / "page.html", state_stored(url, "spring", verify=True), ledger=read_ledger(tmp_path / "people.ledger")
    ).read_text()
    with sqlite3.connect(tmp_path / "a.db") as base:
        tokens = [
            one for row in base.execute("SELECT token, successor FROM sottovoce_ledger_tokens") for one in row if one
        ]
        (key,) = base.execute("SELECT secret FROM sottovoce_books").fetchone()
    base.close()
    grid = round(SECRET * 2**18)
    assert tokens
    for secret in (*tokens, key.hex(), str(SECRET), "0.42", str(grid), f"{grid:,}"):
        assert secret not in page


def test_simulated_noise_and_no_noise_say_so_loudly(tmp_path, read_page):
    url = make(tmp_path, "simulated", noise=sv.SimulatedNoise(1))
    make(tmp_path, "open", privacy=sv.NoPrivacy())
    for name in ("simulated", "open"):
        stated = state_stored(url, name)
        page = read_page(statement_page(tmp_path / "page.html", stated))
        (loud,) = page.tags("div", "loud")
        assert loud.text.strip().startswith("NOT PRIVATE")
        assert statement(stated).private is False
    assert "What would be promised if the noise were real" in shown(url, "simulated")
    assert "What is promised" not in shown(url, "simulated")
    assert "nothing is protected" in shown(url, "open")


def test_the_ledger_is_stated_with_what_is_left(tmp_path):
    ledger = sv.Ledger(sv.PureDP(3.0), tmp_path / "people.ledger")
    url = make(tmp_path, ledger=ledger)
    ledger.charge("prices <b>", sv.PureDP(0.5))
    known = read_ledger(tmp_path / "people.ledger")
    assert (known.spent, known.remaining, known.entries) == (ledger.spent, ledger.remaining, ledger.entries)
    said = shown(url, ledger=known)
    assert "1.5 and 1.5, in epsilon; 2 charges" in said
    assert "This charge    study spring" in said
    assert "prices" not in said  # another's
    alone = str(statement(ledger=ledger))
    assert "prices <b>: epsilon = 0.5" in alone
    other = sv.Ledger(sv.PureDP(1.0))
    assert "The study is not on record in this ledger" in shown(url, ledger=other)
    assert "was charged to a ledger" in shown(url)


def record(folder, *, holds=True, **changes):
    checks = (Check("frames", "alignment", holds, "found", 3, 0.0),)
    plain = findings_record(Findings((), checks, 0.999, True), sottovoce=sv.__version__, moment=MOMENT)
    folder.mkdir(exist_ok=True)
    (folder / "audit.json").write_text(json.dumps({**plain, "passed": True, **changes}))
    return folder


def test_audits_are_shown_with_their_date_and_result_and_none_is_invented(tmp_path):
    url = make(tmp_path)
    assert "none was passed to this statement" in shown(url)
    said = shown(url, audits=[read_audit(record(tmp_path / "fine"))])
    assert "2026-03-01     nothing was refuted" in said
    refuted = read_audit(record(tmp_path / "bad", holds=False))  # whatever the file says of itself
    assert "AUDIT REFUTED (2026-03-01): frames" in shown(url, audits=[refuted])
    other = read_audit(record(tmp_path / "other", sottovoce="0.0.1"))
    assert "NOT of the version that made this page" in " ".join(shown(url, audits=[other]).split())
    partial = read_audit(record(tmp_path / "partial", complete=False))
    assert "INCOMPLETE" in shown(url, audits=[partial])


def attacked(label, kind, seen):
    facts = {"passed": True, "runs": 600, "epsilon_claimed": 1.0, "simulated_noise": False}
    return {"label": label, "kind": kind, "smallest_epsilon_seen": seen, **facts}


def test_the_figure_of_an_audit_is_that_of_studies_like_this_one(tmp_path):
    url = make(tmp_path)
    local = attacked("frames, local", "optimizer", 1.46)
    own = attacked("study of frames, probe-sums", "study", None)
    for attacks, words in (
        ([local, own], "of studies like this one, 600 runs, which could have noticed only values without noise"),
        ([local, own | {"smallest_epsilon_seen": 2.5}], "could have noticed an epsilon of 2.5 or more"),
        ([local], "no study like this one (probe-sums) was attacked"),
    ):
        known = read_audit(record(tmp_path / "attacks", audits=attacks))
        assert words in " ".join(shown(url, audits=[known]).split())
        assert "1.46" not in shown(url, audits=[known])
        assert "epsilon of" not in str(statement(ledger=sv.Ledger(sv.PureDP(1.0)), audits=[known]))


def test_under_local_privacy_reports_are_spent_as_they_are_made(tmp_path):
    url = f"sqlite:///{tmp_path / 'a.db'}"
    facts = {"domain": sv.domains.Simplex(4), "horizon": 10_000, "loss_range": (0.0, 1.0), "losses": "linear"}
    with sv.Study.open(url, name="spring", privacy=sv.LocalDP(1.0), **facts) as study:
        assert study.status().spent == "nothing so far"
        actions = study.ask(3)
        study.tell(actions.ids, report=sv.local.privatise([0.1, 0.5, 0.9], study.channel))
        assert study.status().spent.startswith("by the owners of 3 reports")
    said = " ".join(shown(url).split())
    assert "Of this study by the owners of 3 reports, as these were made: epsilon = 1" in said
    assert "0 released, 1 open (their reports are in the database)" in said
    assert "they hold the reports of open rounds" in said
    assert "losses of open rounds" not in said


def test_a_promise_that_protects_hardly_anybody_is_warned_of_by_all(tmp_path, command):
    """Which they are: tests/privacy/test_statement.py."""
    with pytest.warns(UserWarning, match="epsilon = 1000 protects hardly anybody"):
        url = make(tmp_path, privacy=sv.PureDP(1000.0))
    _, out, _ = command("spring", "--storage", url)
    assert "! epsilon = 1000 protects hardly anybody" in out
    assert "`" not in out
    facts = {"horizon": 10, "loss_range": (0.0, 1.0), "privacy": sv.PureDP(0.01)}
    with pytest.warns(UserWarning, match=r"lets next to nothing be learned from 10 events") as said:
        sv.PrivateBandit(sv.domains.Simplex(4), **facts)
    with pytest.warns(UserWarning, match="epsilon = 11 protects hardly anybody") as also:
        sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(11.0))
    assert said[0].filename == also[0].filename == __file__
    assert "next to nothing" in sv.plan(sv.domains.Simplex(4), **facts, rehearse=False).notes[0]


@every("content", ["", "[]", "{}", '{"audits": 3}', "[" * 100_000, '{"audits": [{}], "checks": []}'])
def test_what_is_no_audit_is_refused(tmp_path, content):
    (tmp_path / "audit.json").write_text(content)
    with pytest.raises(ValueError, match="is not what `sottovoce audit` writes"):
        read_audit(tmp_path)
    with pytest.raises(ValueError, match="there is no audit"):
        read_audit(tmp_path / "nowhere.json")


def test_verification_is_stated_if_it_was_run(tmp_path, command):
    url = make(tmp_path)
    assert "not for this statement" in shown(url)
    assert "every checksum holds" in shown(url, verify=True)
    with sqlite3.connect(tmp_path / "a.db") as base:
        base.execute("UPDATE sottovoce_releases SET released = x'00' WHERE round = 0")
    base.close()
    code, out, _ = command("spring", "--storage", url, "--verify")
    assert code == 1
    assert "DAMAGED: " in out
    assert "Do not sign" in out


@pytest.mark.parametrize("damage", ["made = x'00'", "clock = clock + 1", "garbage"])
def test_a_study_that_cannot_be_trusted_has_no_statement(tmp_path, command, damage):
    url = make(tmp_path)
    if damage == "garbage":
        (tmp_path / "a.db").write_bytes(b"x" * 5000)
    else:
        with sqlite3.connect(tmp_path / "a.db") as base:
            base.execute(f"UPDATE sottovoce_books SET {damage}")
        base.close()
    code, out, err = command("spring", "--storage", url, "--out", "page.html")
    assert (code in (1, 2), out, len(err.strip().splitlines())) == (True, "", 1)
    assert not (tmp_path / "page.html").exists()


HOSTILE = '<script>alert("x")</script>'


def test_hostile_names_are_shown_as_words(tmp_path, read_page):
    labels = [f"{HOSTILE}{i}" for i in range(4)]
    url = make(tmp_path, HOSTILE, domain=sv.domains.Simplex(labels))
    page = read_page(statement_page(tmp_path / "page.html", state_stored(url, HOSTILE)))
    assert not page.tags("script")
    assert "script-src" not in page.source
    assert f"study {HOSTILE}" in page.text
    assert f"among {HOSTILE}0" in page.text
    ledger = sv.Ledger(sv.PureDP(1.0))
    ledger.charge("\x1b[2J\u202e" + "a" * 50_000, sv.PureDP(0.1))
    said = str(statement(ledger=ledger))
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert len(said) < 3_000


def test_a_ledger_is_read_while_others_hold_it_never_made_and_refused_in_one_line(tmp_path, command, monkeypatch):
    path = tmp_path / "people.ledger"
    sv.Ledger(sv.PureDP(3.0), path).charge("routes", sv.PureDP(0.5))
    before = path.read_bytes()
    monkeypatch.setattr("sottovoce.privacy.ledger._SECONDS_TO_WAIT", 0.0)
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        assert read_ledger(path).spent == 0.5  # a charge that is not committed yet is none
        other.execute("ROLLBACK")
        assert path.read_bytes() == before
        other.execute("BEGIN EXCLUSIVE")
        code, _, err = command("--ledger", path)
        assert (code, "is being written to by another process" in err) == (2, True)
        other.execute("ROLLBACK")
        other.execute("UPDATE charges SET guarantee = '{}'")
    other.close()
    (tmp_path / "cut").write_bytes(path.read_bytes()[:5_000])
    (tmp_path / "words").write_text("no ledger " * 1_000)
    (tmp_path / "empty").write_text("")
    LedgerFile(tmp_path / "bare")  # whoever made it died before its budget was on record
    wrong = {"people.ledger": "is damaged", "nowhere": "there is no ledger at", "bare": "was never opened"}
    wrong |= {"cut": "", "words": "", "empty": ""}
    for name, words in wrong.items():
        code, _, err = command("--ledger", tmp_path / name)
        assert (code, words in err, len(err.strip().splitlines())) == (2, True, 1)
    assert not (tmp_path / "nowhere").exists()


def test_the_text_is_printed_the_page_written_and_what_is_missing_named_in_one_line(tmp_path, command, read_page):
    url, of = make(tmp_path), ("spring", "--storage")
    code, out, _ = command(*of, url)
    assert (code, out.startswith("Privacy statement: study spring\n")) == (0, True)
    for where, words in (
        ((), "name a study (with --storage), or pass --ledger FILE"),
        (("--ledger", "x", "--verify"), "is for studies"),
        ((*of, f"sqlite:///{tmp_path / 'nothing.db'}"), "nothing.db"),
        ((*of, url, "--out", "nowhere/page.html"), "nowhere"),
        ((*of, url, "--out", "."), "out must be"),
    ):
        code, out, err = command(*where)
        assert (code in (1, 2), out, len(err.strip().splitlines())) == (True, "", 1)
        assert words in err
    assert not [path for path in tmp_path.iterdir() if path.suffix in (".html", ".partial") or "nothing" in path.name]
    code, out, _ = command(*of, url, "--audit", record(tmp_path / "fine"), "--out", "page.html")
    assert (code, out) == (0, "wrote page.html\n")
    assert "nothing was refuted" in read_page(tmp_path / "page.html").text
