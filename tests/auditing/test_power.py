"""What an audit says that it could have seen, it sees: with simulated noise, so these are facts."""

import math

import sottovoce as sv
from sottovoce.auditing import MechanismAlone, audit
from sottovoce.auditing.attacks.claims import claim_of
from sottovoce.auditing.attacks.power import sees_bare_values, smallest_seen


def test_more_runs_see_less_of_a_difference():
    for guarantee in (sv.PureDP(1.0), sv.ZCDP(0.5), sv.LocalDP(1.0)):
        claim = claim_of(guarantee)
        seen = [smallest_seen(claim, trials, 1e-3) for trials in (300, 3000, 30_000)]
        assert claim.epsilon < seen[2] < seen[1] < seen[0]


def test_too_few_runs_see_nothing():
    claim = claim_of(sv.PureDP(1.0))
    assert smallest_seen(claim, 10, 1e-3) == math.inf
    assert not sees_bare_values(claim, 10, 1e-3)
    assert sees_bare_values(claim, 40, 1e-3)


def test_a_mechanism_at_the_edge_is_refuted_nine_times_out_of_ten():
    """Of 40 audits of noise for the smallest epsilon that can be seen, fewer than 30 are refuted once in 10^4."""
    runs = 4000
    edge = smallest_seen(claim_of(sv.PureDP(1.0)), runs // 4, 1e-3)
    weak = MechanismAlone("fresh", sv.PureDP(edge), rounds=1)
    found = [audit(weak, claimed=sv.PureDP(1.0), runs=runs, noise_seed=seed) for seed in range(40)]
    assert sum(not one.passed for one in found) >= 30
    assert found[0].smallest_seen == edge
