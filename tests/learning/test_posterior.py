"""Posterior probes as a plan: what it takes, what it says, what it learns, under every guarantee."""

from typing import ClassVar

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import sottovoce as sv
from optimizers import bandit
from sampling import every
from sottovoce.privacy.local import simulate_reports

SLATE = sv.domains.Hypersimplex(8, 3)
COSTS = np.linspace(0.05, 0.3, 8)
LINEAR = {"losses": "linear", "integral": True}
GUARANTEES = {
    "none": sv.NoPrivacy(),
    "pure": sv.PureDP(1.0),
    "two contributions": sv.PureDP(1.0, contributions=2),
    "approximate": sv.ApproxDP(1.0, 1e-6),
    "concentrated": sv.ZCDP(0.5),
    "local": sv.LocalDP(2.0),
}


def made(domain=SLATE, horizon=20_000, **options):
    return bandit(domain, horizon, **{"seed": 2, "noise": sv.SimulatedNoise(2), **options})


def play(optimizer, mean, events=None, seed=3):
    """Losses of 0 and 1, by lot; return the regret per event."""
    coins, total, left = np.random.default_rng(seed), 0.0, events or optimizer.remaining
    played = left
    while left:
        actions = optimizer.ask_round(left)
        left -= len(actions)
        chances = mean(actions.x)
        total += float(chances.sum())
        losses = (coins.random(len(actions)) < chances).astype(float)
        if isinstance(optimizer.privacy.guarantee, sv.LocalDP):
            optimizer.tell(actions.ids, report=simulate_reports(losses, optimizer.channel, coins))
        else:
            optimizer.tell(actions.ids, losses)
    return total / played


def slates(x):
    return x @ COSTS


class TestPlan:
    @every("options", [{}, LINEAR])
    def test_it_is_the_default_and_says_what_it_rests_on(self, options):
        plan = made(**options).plan
        assert (plan.name, plan.exploration) == ("auto", "posterior")
        assert "no bound if they do not" in str(plan)
        worst = made(plan="worst-case", **options).plan
        assert (worst.name, worst.exploration) == ("worst-case", "designs" if options else "frames")
        assert "holds for any sequence of losses" in str(worst)

    def test_what_does_not_serve_or_apply_is_refused_with_what_does(self):
        assert made(sv.domains.Ball(3), play="around").plan.exploration != "posterior"
        with pytest.raises(ValueError, match="exploration='posterior' does not serve here: it plays decisions of the"):
            made(sv.domains.Ball(3), play="around", exploration="posterior")
        with pytest.raises(ValueError, match=r"radius does not apply to exploration 'posterior', which has .*probes"):
            made(radius=0.1)
        with pytest.raises(ValueError, match="step does not apply to exploration 'posterior'"):
            made(step=0.1)
        for loss_range in ((-1e200, 1e200), (0.0, 1e-200), (1e70, 1e70 + 1e60)):
            with pytest.raises(ValueError, match="since losses are squared; use other units"):
                made(loss_range=loss_range)


class TestLearning:
    @every("privacy", GUARANTEES.values())
    def test_linear_losses_are_learned_under_every_guarantee(self, privacy):
        """Never learning costs .19 per event: a third of it is left at most; .1 are the first, wide rounds' own."""
        optimizer = made(privacy=privacy, **LINEAR)
        noise = optimizer.plan.noise
        heavy = noise is not None and noise.family == "laplace"
        assert optimizer._policy.current().explorer.belief.settings.heavy == heavy or noise is None
        regret = play(optimizer, slates) - COSTS[:3].sum()
        assert regret < 0.07
        assert set(np.unique(optimizer.point)) == {0.0, 1.0}

    @every("privacy", [sv.NoPrivacy(), sv.PureDP(1.0), sv.LocalDP(4.0)])
    def test_convex_losses_are_learned(self, privacy):
        """The middle costs .12 more than the best point; a third of it is left at most."""
        target = np.array([0.6, -0.3, 0.1])
        optimizer = made(sv.domains.Ball(3), horizon=40_000, privacy=privacy)
        regret = play(optimizer, lambda x: 0.1 + ((x - target) ** 2).sum(axis=1) / 4) - 0.1
        assert regret < 0.04


class Counted(sv.domains.Simplex):
    """A set whose oracle sees how many threads linear algebra has."""

    seen: ClassVar[set[int]] = set()

    def extreme_point(self, cost):
        self.seen.update(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return super().extreme_point(cost)


@pytest.mark.parametrize("stored", [False, True])
def test_what_is_learned_and_looked_at_has_one_thread(stored, sqlite_url):
    """Threads for matrices of a dozen rows take forty times as long, and would split sums differently elsewhere."""
    given = {"horizon": 2000, "loss_range": (0.0, 1.0), "privacy": sv.PureDP(1.0), "seed": 2, **LINEAR}
    if stored:
        optimizer = sv.Study.open(sqlite_url, name="study", domain=Counted(5), **given)
        looks = [optimizer.status, optimizer.history, optimizer.export, optimizer.verify]
    else:
        optimizer, looks = sv.PrivateBandit(Counted(5), **given), []
    looks += [optimizer.ask, optimizer.recommend, optimizer.posterior, optimizer._seen_world]
    Counted.seen.clear()
    with threadpool_limits(limits=3, user_api="blas"):
        for look in looks:
            actions = optimizer.ask_round()
            optimizer.tell(actions.ids, actions.x[:, 0])
            look()
            optimizer.point  # noqa: B018
        assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} == {3}
    assert Counted.seen == {1}
    if stored:
        optimizer.close()
