"""Lives and the ledger: whoever goes on goes on for free, once; every other life on the same people is charged."""

import multiprocessing
import os
import signal

import pytest

import sottovoce as sv
from sottovoce.errors import LedgerConflict
from sottovoce.privacy.ledger import new_token

fork = multiprocessing.get_context("fork")


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
        start, names = fork.Barrier(4), fork.Queue()

        def present():
            ledger = sv.Ledger(sv.PureDP(100.0), path)
            start.wait()
            names.put(ledger.carry_on("run", sv.PureDP(1.0), token, new_token()))

        workers = [fork.Process(target=present) for _ in range(4)]
        for worker in workers:
            worker.start()
        found = sorted(names.get(timeout=60) for _ in workers)
        for worker in workers:
            worker.join()
        assert found == ["run", "run (life 2)", "run (life 3)", "run (life 4)"]

    def test_a_kill_after_the_token_was_taken_costs_a_life_at_worst(self, tmp_path):
        """Killed between the ledger's commit and saving the next token: the old one is used up. The safe side."""
        path = tmp_path / "ledger"
        ledger = sv.Ledger(sv.PureDP(10.0), path)
        token = new_token()
        ledger.charge("run", sv.PureDP(1.0), token=token)
        child = os.fork()
        if child == 0:
            try:
                sv.Ledger(sv.PureDP(10.0), path).carry_on("run", sv.PureDP(1.0), token, new_token())
                os.kill(os.getpid(), signal.SIGKILL)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        assert ledger.spent == 1.0
        assert ledger.carry_on("run", sv.PureDP(1.0), token, new_token()) == "run (life 2)"
        assert ledger.spent == 2.0
