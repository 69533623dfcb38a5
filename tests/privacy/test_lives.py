"""Lives and the ledger: whoever goes on goes on for free, once; every other life on the same people is charged."""

import copy
import multiprocessing
import os
import pickle
import signal

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import CopyRefused, LedgerConflict, LedgerExceeded, StateRefused
from sottovoce.privacy.ledger import new_token

fork = multiprocessing.get_context("fork")
BALL = sv.domains.Ball(3)


def make(ledger, **options):
    return sv.PrivateBandit(
        BALL,
        horizon=10_000,
        loss_range=(0, 1),
        privacy=sv.PureDP(1.0),
        ledger=ledger,
        **({"probes": 2, "least_events": 5} | options),
    )


FRAMES = {"exploration": "frames", "batch_size": 10, "directions": 1, "probes": None, "least_events": None}


def close_a_round(optimizer):
    before = optimizer.round
    while optimizer.round == before:
        actions = optimizer.ask_round()
        optimizer.tell(actions.ids, np.full(len(actions), 0.5))


def resume(state, ledger):
    return sv.PrivateBandit.from_state(state, ledger=ledger)


@pytest.fixture(params=["memory", "file"])
def ledger(request, tmp_path):
    return sv.Ledger(sv.PureDP(10.0), tmp_path / "ledger" if request.param == "file" else None)


class TestStates:
    @pytest.mark.parametrize("options", [{}, FRAMES], ids=["probes", "frames"])
    def test_a_state_is_taken_up_for_free_once_and_six_lives_cost_six(self, options, ledger):
        optimizer = make(ledger, name="run", **options)
        close_a_round(optimizer)
        state = optimizer.state()
        for life in range(1, 7):
            close_a_round(resume(state, ledger))
            assert ledger.spent == life
        assert [entry.name for entry in ledger.entries] == ["run", *(f"run (life {n})" for n in range(2, 7))]
        assert all(entry.used for entry in ledger.entries)

    def test_what_the_budget_cannot_pay_for_is_refused(self):
        ledger = sv.Ledger(sv.PureDP(1.0))
        state = make(ledger).state()
        resume(state, ledger)
        with pytest.raises(LedgerExceeded):
            resume(state, ledger)
        assert ledger.spent == 1.0

    @pytest.mark.parametrize("options", [{}, FRAMES], ids=["probes", "frames"])
    def test_a_chain_of_lives_is_one_life(self, options, ledger):
        optimizer = make(ledger, name="run", **options)
        for _ in range(5):
            close_a_round(optimizer)
            optimizer = resume(optimizer.state(), ledger)
        close_a_round(optimizer)
        assert ledger.spent == 1.0
        assert optimizer.round == 6

    def test_states_saved_after_every_round_are_good_for_a_restart(self, ledger):
        """The original goes on, and is killed: nothing was released that its newest state does not know of."""
        optimizer = make(ledger)
        for _ in range(4):
            close_a_round(optimizer)
            state = optimizer.state()
        optimizer.tell(optimizer.ask().id, 0.5)  # told, not released
        close_a_round(resume(state, ledger))
        assert ledger.spent == 1.0

    def test_a_state_that_its_optimizer_has_overtaken_is_another_life(self, ledger):
        optimizer = make(ledger)
        state = optimizer.state()
        close_a_round(optimizer)
        assert ledger.spent == 1.0
        resume(state, ledger)
        assert ledger.spent == 2.0
        close_a_round(optimizer)
        assert ledger.spent == 2.0

    def test_an_optimizer_that_its_state_has_overtaken_is_another_life(self, ledger):
        optimizer = make(ledger)
        state = optimizer.state()
        close_a_round(resume(state, ledger))
        assert ledger.spent == 1.0
        close_a_round(optimizer)
        assert ledger.spent == 2.0
        close_a_round(optimizer)
        assert ledger.spent == 2.0

    def test_an_overtaken_optimizer_releases_nothing_that_nobody_pays_for(self):
        ledger = sv.Ledger(sv.PureDP(1.0))
        optimizer = make(ledger)
        close_a_round(resume(optimizer.state(), ledger))
        actions = optimizer.ask_round()
        losses = np.full(len(actions), 0.5)
        for call in (lambda: optimizer.tell(actions.ids, losses), optimizer.ask, optimizer.state):
            with pytest.raises(LedgerExceeded):
                call()
        assert optimizer.round == 0
        assert ledger.spent == 1.0

    def test_only_the_newest_state_goes_on(self, ledger):
        optimizer = make(ledger)
        older, newer = optimizer.state(), optimizer.state()
        resume(newer, ledger)
        assert ledger.spent == 1.0
        resume(older, ledger)
        assert ledger.spent == 2.0

    def test_no_refund_once_a_state_was_taken(self, ledger):
        state = make(ledger, name="run").state()
        with pytest.raises(LedgerConflict, match="no refund"):
            ledger.refund("run")
        resume(state, ledger)
        with pytest.raises(LedgerConflict, match="no refund"):
            ledger.refund("run")
        assert ledger.spent == 1.0

    def test_a_charged_state_is_not_taken_up_behind_the_ledgers_back(self, ledger):
        state = make(ledger).state()
        with pytest.raises(StateRefused, match="pass ledger="):
            sv.PrivateBandit.from_state(state)
        resume(state, ledger)
        assert ledger.spent == 1.0

    def test_a_refused_state_hands_nothing_over(self, ledger):
        tree = sv.PrivateBandit(
            BALL,
            horizon=1000,
            loss_range=(0, 1),
            privacy=sv.PureDP(1.0),
            ledger=ledger,
            name="tree",
            exploration="sphere",
            mechanism="tree",
        )
        with pytest.raises(StateRefused):
            tree.state()
        ledger.refund("tree")

    def test_copies_of_a_state_are_the_same_state(self, ledger):
        optimizer = make(ledger)
        state = optimizer.state()
        for copied in (state, bytes(bytearray(state)), pickle.loads(pickle.dumps(state)), copy.deepcopy(state)):
            resume(copied, ledger)
        assert ledger.spent == 4.0
        with pytest.raises(CopyRefused):
            pickle.dumps(optimizer)

    def test_another_ledger_charges_for_itself(self, ledger):
        other = sv.Ledger(sv.PureDP(10.0))
        state = make(ledger, name="run").state()
        resume(state, other)
        assert (ledger.spent, other.spent) == (1.0, 1.0)

    def test_a_state_without_a_ledger_is_charged_when_one_is_passed(self, ledger):
        state = make(None).state()
        assert ledger.spent == 0.0
        resume(state, ledger)
        assert ledger.spent == 1.0


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
        """Killed between the ledger's commit and saving the next state: the old one is used up. The safe side."""
        path = tmp_path / "ledger"
        ledger = sv.Ledger(sv.PureDP(10.0), path)
        state = make(ledger).state()
        child = os.fork()
        if child == 0:
            try:
                resume(state, sv.Ledger(sv.PureDP(10.0), path))
                os.kill(os.getpid(), signal.SIGKILL)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        assert ledger.spent == 1.0
        resume(state, ledger)
        assert ledger.spent == 2.0
