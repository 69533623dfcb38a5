"""The printed statement matches what the mechanism really does, over the whole grid of options."""

import itertools
import re

import pytest

import sottovoce as sv
from sampling import every
from sottovoce.privacy import FreshSums, ProbeSums, TreeAggregator

GUARANTEES = [sv.PureDP(0.5), sv.PureDP(1.0, contributions=3), sv.ApproxDP(1.0, 1e-6), sv.ZCDP(0.3, contributions=2)]
CHOICES = [
    {"plan": "paper"},
    {"mechanism": "tree"},
    {"mechanism": "fresh"},
    {"exploration": "frames"},
    {"losses": "linear"},
    {"losses": "linear", "integral": True},
]
KINDS = {"tree": TreeAggregator, "fresh": FreshSums, "probe-sums": ProbeSums}
GRID = itertools.product(GUARANTEES, CHOICES, (500, None), (sv.SecureNoise(), sv.SimulatedNoise(1)))


@every(("privacy", "choices", "horizon", "source"), GRID)
def test_the_statement_is_true(privacy, choices, horizon, source):
    optimizer = sv.PrivateBandit(
        sv.domains.Hypersimplex(5, 2), horizon=horizon, loss_range=(0, 1), privacy=privacy, noise=source, **choices
    )
    statement, plan, mechanism = optimizer.privacy, optimizer.plan, optimizer._policy.current().mechanism
    assert isinstance(mechanism, KINDS[plan.mechanism])
    assert statement.guarantee is privacy
    assert statement.private == (not source.simulated)
    assert ("NOT PRIVATE" in str(statement)) == source.simulated
    assert plan.mechanism in statement.mechanism
    scale = re.search(r"of scale ([\d.,]+)\. Hence", statement.why).group(1).replace(",", "")
    assert float(scale) == pytest.approx(plan.noise.scale, rel=1e-5)
    assert ("disjoint" in statement.why) == (horizon is None)
    spent = float(re.search(r"= ([\d.e+-]+)(\.$|, converted|\. Epochs)", statement.why).group(1).rstrip("."))
    allowed = privacy.epsilon if plan.noise.family == "laplace" else privacy.mu
    assert spent <= allowed * (1 + 1e-5)
    if choices.get("plan") != "paper":
        assert spent >= allowed * (1 - 1e-3)  # and nothing is wasted
