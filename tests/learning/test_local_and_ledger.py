"""Losses that are privatised by their owners, and budgets that several optimizers share."""

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import InvalidLoss, LedgerConflict, LedgerExceeded

BALL = sv.domains.Ball(2)


def local(**options):
    defaults = {"horizon": 2000, "loss_range": (0.0, 2.0), "privacy": sv.LocalDP(3.0), "seed": 1}
    return sv.PrivateBandit(BALL, **{**defaults, **options})


class TestLocal:
    def test_raw_losses_and_reports_are_refused_in_place_of_each_other_and_so_is_what_no_owner_sends(self):
        optimizer, other = local(), local(privacy=sv.PureDP(1.0))
        action = optimizer.ask()
        for ids, loss in ((action.id, 0.123456), ([action.id], [0.123456])):
            with pytest.raises(TypeError, match="raw loss is refused"):
                optimizer.tell(ids, loss)
            for bad in (0.123456, 7, 0, float("nan"), "x", None):
                with pytest.raises((InvalidLoss, TypeError)):
                    optimizer.tell(ids, report=bad if ids == action.id else [bad])
        assert len(optimizer.outstanding()) == 1
        with pytest.raises(TypeError, match="report= is for LocalDP"):
            other.tell(other.ask().id, report=1)
        with pytest.raises(AttributeError, match="LocalDP only"):
            _ = other.channel

    def test_it_learns_from_reports_alone(self):
        """Linear loss on the disc, with spheres; never learning costs 1, and other plans are in test_posterior.py."""
        optimizer = local(horizon=60_000, privacy=sv.LocalDP(4.0), exploration="sphere")
        rng, lost = np.random.default_rng(0), []
        while optimizer.remaining:
            actions = optimizer.ask_round(most=2000)
            losses = 1.0 + actions.x[:, 0]
            optimizer.tell(actions.ids, report=sv.local.simulate_reports(losses, optimizer.channel, rng))
            lost.append(losses.mean())
        assert np.mean(lost[len(lost) // 2 :]) < 0.75

    def test_people_who_report_often_get_less_for_each(self):
        assert local(privacy=sv.LocalDP(3.0, contributions=4)).channel.epsilon <= 0.75


class TestLedger:
    def make(self, ledger, epsilon=0.4, **options):
        given = {"horizon": 100, "loss_range": (0, 1), "privacy": sv.PureDP(epsilon), "ledger": ledger}
        return sv.PrivateBandit(BALL, **given | options)

    def test_optimizers_on_the_same_people_add_up_until_the_ledger_refuses(self):
        ledger = sv.Ledger(sv.PureDP(1.0))
        for broken in ({"radius": 50.0}, {"privacy": sv.NoPrivacy()}, {"noise": sv.SimulatedNoise(1)}):
            with pytest.raises((ValueError, TypeError)):
                self.make(ledger, **broken)  # what cannot be built, or promises nothing, is not charged
        assert ledger.spent == 0
        doubling = self.make(ledger, horizon=None)
        for _ in range(10):
            block = doubling.ask(size=300)
            doubling.tell(block.ids, np.full(300, 0.5))
        assert ledger.spent == pytest.approx(0.4)
        self.make(ledger)
        with pytest.raises(LedgerExceeded):
            self.make(ledger)
        assert ledger.spent == pytest.approx(0.8)
        self.make(ledger, 0.1, name="one").ask()
        with pytest.raises(LedgerConflict):  # a name is charged once, and not taken over
            self.make(ledger, 0.1, name="one")
        assert ledger.spent == pytest.approx(0.9)
