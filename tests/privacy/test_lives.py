"""Lives and the ledger: whoever goes on goes on for free, once; every other life on the same people is charged."""

import os
import signal

import pytest

import sottovoce as sv
from children import Child, forked_at_once
from sottovoce.errors import LedgerConflict
from sottovoce.privacy.ledger import new_token


@pytest.fixture(params=["memory", "file"])
def ledger(request, tmp_path):
    return sv.Ledger(sv.PureDP(10.0), tmp_path / "ledger" if request.param == "file" else None)


class TestTokens:
    def test_a_name_with_a_holder_is_not_resumed_by_its_name(self, ledger):
        ledger.charge("run", sv.PureDP(1.0), token=new_token())
        with pytest.raises(LedgerConflict):
            ledger.charge("run", sv.PureDP(1.0))

    def test_a_token_stands_for_its_guarantee_too(self, ledger):
        token = new_token()
        ledger.charge("run", sv.PureDP(1.0), token=token)
        assert ledger.carry_on("run", sv.PureDP(2.0), token, new_token()) == "run (life 2)"
        assert ledger.spent == 3.0

    def test_the_file_does_not_hold_tokens(self, tmp_path):
        ledger, token = sv.Ledger(sv.PureDP(1.0), tmp_path / "ledger"), new_token()
        ledger.charge("run", sv.PureDP(1.0), token=token)
        assert token.encode() not in (tmp_path / "ledger").read_bytes()

    def test_of_two_that_present_one_token_at_once_one_pays(self, tmp_path):
        path, token = tmp_path / "ledger", new_token()
        sv.Ledger(sv.PureDP(100.0), path).charge("run", sv.PureDP(1.0), token=token)

        def present(number, report):
            ledger = sv.Ledger(sv.PureDP(100.0), path)
            report("life", ledger.carry_on("run", sv.PureDP(1.0), token, new_token()))

        found = sorted(name for said in forked_at_once(present) for _, name in said)
        assert found == ["run", "run (life 2)", "run (life 3)", "run (life 4)"]

    def test_a_kill_after_the_token_was_taken_costs_a_life_at_worst(self, tmp_path):
        """Killed between the ledger's commit and saving the next token: the old one is used up. The safe side."""
        path = tmp_path / "ledger"
        ledger = sv.Ledger(sv.PureDP(10.0), path)
        token = new_token()
        ledger.charge("run", sv.PureDP(1.0), token=token)

        def work(report):
            sv.Ledger(sv.PureDP(10.0), path).carry_on("run", sv.PureDP(1.0), token, new_token())
            os.kill(os.getpid(), signal.SIGKILL)

        assert Child(work).finish() == ([], True)
        assert ledger.spent == 1.0
        assert ledger.carry_on("run", sv.PureDP(1.0), token, new_token()) == "run (life 2)"
        assert ledger.spent == 2.0
