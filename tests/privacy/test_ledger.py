"""The ledger: never beyond its budget, whoever charges, whenever they die; of many lives one goes on for free."""

import contextlib
import json
import os
import random
import signal
import time

import pytest

from children import Child, at_once, forked_at_once, is_refused_after_a_fork
from sampling import every
from sottovoce.errors import LedgerConflict, LedgerExceeded
from sottovoce.privacy import ZCDP, ApproxDP, Ledger, LocalDP, NoPrivacy, PureDP, compose
from sottovoce.privacy.ledger import new_token


@pytest.fixture(params=["memory", "file"])
def open_ledger(request, tmp_path):
    """Open the same ledger again and again; in memory there is only one."""
    kept = {}

    def open_it(budget):
        if request.param == "file":
            return Ledger(budget, tmp_path / "ledger")
        return kept.setdefault(budget, Ledger(budget))

    return open_it


@pytest.mark.parametrize(
    ("budget", "charge", "times"),
    [
        (PureDP(1.0), PureDP(0.1), 10),
        (PureDP(1.0), LocalDP(0.25), 4),
        (ZCDP(0.3), ZCDP(0.1), 3),
        (ZCDP(0.5), PureDP(0.5), 4),  # rho = epsilon^2/2
        (ApproxDP(1.0, 1e-5), ApproxDP(0.1, 1e-6), 10),
        (ApproxDP(1.0, 1e-6), PureDP(0.25), 4),
    ],
)
def test_exactly_what_fits_is_accepted(open_ledger, budget, charge, times):
    ledger = open_ledger(budget)
    for i in range(times):
        assert ledger.charge(f"run {i}", charge)
    assert ledger.remaining == pytest.approx(0.0, abs=1e-4)
    with pytest.raises(LedgerExceeded, match="'one more'"):
        ledger.charge("one more", charge)
    assert len(ledger.entries) == times
    assert open_ledger(budget).spent == ledger.spent


def test_many_small_charges_compose_better_than_they_add_up():
    ledger = Ledger(ApproxDP(1.0, 1e-6))
    accepted = 0
    while compose(*[ZCDP(0.0002)] * (accepted + 1)).epsilon(1e-6) <= 1.0:
        assert ledger.charge(str(accepted), ZCDP(0.0002))
        accepted += 1
    with pytest.raises(LedgerExceeded):
        ledger.charge("one more", ZCDP(0.0002))
    assert accepted > 100


@pytest.mark.parametrize(
    ("budget", "charge"),
    [
        (PureDP(9.0), ApproxDP(0.1, 1e-9)),
        (PureDP(9.0), ZCDP(0.001)),
        (ZCDP(9.0), ApproxDP(0.1, 1e-9)),
        (ApproxDP(9.0, 1e-9), ApproxDP(0.1, 1e-8)),
    ],
)
def test_what_the_currency_cannot_pay_for_is_refused(open_ledger, budget, charge):
    ledger = open_ledger(budget)
    with pytest.raises(LedgerExceeded):
        ledger.charge("run", charge)
    assert ledger.entries == ()
    assert ledger.spent == 0.0


def test_resuming_is_free_and_changing_is_refused(open_ledger):
    ledger = open_ledger(PureDP(1.0))
    assert ledger.charge("run", PureDP(0.6))
    assert not open_ledger(PureDP(1.0)).charge("run", PureDP(0.6))
    for other in (PureDP(0.5), PureDP(0.7), LocalDP(0.6), PureDP(0.6, contributions=2)):
        with pytest.raises(LedgerConflict, match="on record with"):
            ledger.charge("run", other)
    with pytest.raises(LedgerConflict, match="cannot resume"):
        ledger.charge("run", PureDP(0.6), resume=False)
    assert ledger.spent == 0.6


@every(
    ("arguments", "error"),
    [
        ({"name": "run", "guarantee": NoPrivacy()}, ValueError),
        ({"name": "run", "guarantee": PureDP(0.1), "simulated": True}, ValueError),
        ({"name": "run", "guarantee": 0.1}, ValueError),
        ({"name": "", "guarantee": PureDP(0.1)}, TypeError),
        ({"name": 7, "guarantee": PureDP(0.1)}, TypeError),
    ],
)
def test_what_is_no_promise_is_refused(open_ledger, arguments, error):
    ledger = open_ledger(PureDP(1.0))
    with pytest.raises(error):
        ledger.charge(**arguments)
    assert ledger.entries == ()


def test_a_budget_is_one_and_cannot_be_changed_by_opening_it_again(tmp_path):
    for budget in (NoPrivacy(), LocalDP(1.0), 1.0):
        with pytest.raises(TypeError, match="budget"):
            Ledger(budget)
    Ledger(PureDP(1.0), tmp_path / "ledger")
    with pytest.raises(LedgerConflict, match=r"PureDP\(epsilon=2.0"):
        Ledger(PureDP(2.0), tmp_path / "ledger")
    assert Ledger(PureDP(1.0), tmp_path / "ledger").remaining == 1.0


def test_a_ledger_in_memory_is_not_used_after_a_fork():
    ledger = Ledger(PureDP(1.0))
    assert is_refused_after_a_fork(lambda: ledger.charge("run", PureDP(1.0)))


def test_threads_share_one_budget():
    ledger, accepted = Ledger(PureDP(1.0)), []

    def work(number):
        for i in range(20):
            try:
                accepted.append(ledger.charge(f"{number}-{i}", PureDP(0.05)))
            except LedgerExceeded:
                return

    at_once(work)
    assert len(accepted) == len(ledger.entries) == 20


def test_a_charge_is_there_in_full_or_not_at_all_after_a_kill(tmp_path):
    """Killed at random moments: all that was acknowledged is on record, and at most one charge beyond it."""
    path, delays = tmp_path / "ledger", random.Random(1)
    acknowledged = set()
    for attempt in range(12):

        def work(report, attempt=attempt):
            ledger = Ledger(PureDP(1e3), path)
            for i in range(10**6):
                ledger.charge(f"{attempt}-{i}", PureDP(0.5))
                report("charged", f"{attempt}-{i}")

        child = Child(work)
        time.sleep(delays.uniform(0.0, 0.12))
        os.kill(child.pid, signal.SIGKILL)
        acknowledged.update(name for _, name in child.finish()[0])
        ledger = Ledger(PureDP(1e3), path)
        entries = ledger.entries
        names = {entry.name for entry in entries}
        assert acknowledged <= names
        assert len(names - acknowledged) <= 1
        assert all(entry.guarantee == PureDP(0.5) for entry in entries)
        assert ledger.spent == 0.5 * len(entries)
        acknowledged = names
    assert len(acknowledged) > 3  # the test did charge


def test_nobody_decides_on_a_remainder_that_another_is_about_to_take(tmp_path, monkeypatch):
    """Between decision and record every process takes its time; still only one gets what only one can have."""
    ledgers = [Ledger(PureDP(1.0), tmp_path / "ledger") for _ in range(4)]
    dumps = json.dumps
    monkeypatch.setattr("sottovoce.privacy.ledger.json.dumps", lambda plain: (time.sleep(0.1), dumps(plain))[1])

    def work(number, report):
        with contextlib.suppress(LedgerExceeded):
            report("charged", ledgers[number].charge(str(number), PureDP(0.6)))

    assert sorted(forked_at_once(work)) == [[], [], [], [["charged", True]]]
    assert ledgers[0].spent == 0.6


# ---------------------------------------------------------------------- lives: who goes on for free


def test_a_name_with_a_holder_is_resumed_by_its_token_for_its_guarantee_alone(open_ledger):
    ledger, token = open_ledger(PureDP(10.0)), new_token()
    ledger.charge("run", PureDP(1.0), token=token)
    with pytest.raises(LedgerConflict):
        ledger.charge("run", PureDP(1.0))
    assert ledger.carry_on("run", PureDP(2.0), token, new_token()) == "run (life 2)"
    assert ledger.spent == 3.0


def test_the_file_does_not_hold_tokens(tmp_path):
    ledger, token = Ledger(PureDP(1.0), tmp_path / "ledger"), new_token()
    ledger.charge("run", PureDP(1.0), token=token)
    assert token.encode() not in (tmp_path / "ledger").read_bytes()


def test_of_two_that_present_one_token_at_once_one_pays(tmp_path):
    path, token = tmp_path / "ledger", new_token()
    Ledger(PureDP(100.0), path).charge("run", PureDP(1.0), token=token)

    def present(number, report):
        ledger = Ledger(PureDP(100.0), path)
        report("life", ledger.carry_on("run", PureDP(1.0), token, new_token()))

    found = sorted(name for said in forked_at_once(present) for _, name in said)
    assert found == ["run", "run (life 2)", "run (life 3)", "run (life 4)"]
