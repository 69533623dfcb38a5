"""What an audit says that it could have seen, it sees: with simulated noise, so these are facts."""

import math

import pytest

import sottovoce as sv
from sottovoce.auditing import MechanismAlone, audit, shipped
from sottovoce.auditing.attacks.betting import claim_of
from sottovoce.auditing.attacks.power import Schedule, sees_bare_values, smallest_seen


def test_more_runs_and_more_people_see_less_of_a_difference():
    for guarantee in (sv.PureDP(1.0), sv.ZCDP(0.5), sv.LocalDP(1.0)):
        claim = claim_of(guarantee)
        seen = [smallest_seen(claim, Schedule(runs, 4 * runs), 1e-3) for runs in (300, 3000, 30_000)]
        assert claim.epsilon < seen[2] < seen[1] < seen[0]
        assert smallest_seen(claim, Schedule(3000, 12_000, people=4), 1e-3) < seen[1]


def test_too_few_runs_see_nothing_and_going_on_where_the_claim_looks_wrong_sees_more():
    claim = claim_of(sv.PureDP(1.0))
    assert smallest_seen(claim, Schedule(10, 10), 1e-3) == math.inf
    assert not sees_bare_values(claim, 10, 1e-3)
    assert sees_bare_values(claim, 40, 1e-3)
    once, longer = (smallest_seen(claim, Schedule(1000, longest), 1e-5) for longest in (1000, 5000))
    assert longer - 1 < 0.8 * (once - 1)


@pytest.mark.long
def test_a_mechanism_at_the_edge_is_refuted_nine_times_out_of_ten():
    """Of 40 audits of noise for the smallest epsilon that can be seen, fewer than 30 are refuted once in 10^4."""
    runs = 4000
    edge = audit(MechanismAlone("fresh", sv.PureDP(1.0), rounds=1), runs=runs, noise_seed=0).smallest_seen
    assert edge < 1.3
    weak = MechanismAlone("fresh", sv.PureDP(edge), rounds=1)
    found = [audit(weak, claimed=sv.PureDP(1.0), runs=runs, noise_seed=seed) for seed in range(40)]
    assert sum(not one.passed for one in found) >= 30
    assert any(one.runs > runs for one in found)  # went on
    assert found[0].smallest_seen == edge


@pytest.mark.long
def test_people_who_share_a_run_count_as_many():
    """Noise for epsilon = 1.3 in an optimizer: 2,000 runs refute a claim of 1, at the error of one part of many."""
    weak = next(one for one in shipped(1.3) if one.label == "frames, probe-sums")
    found = audit(weak, claimed=sv.PureDP(1.0), runs=2000, noise_seed=0, confidence=1 - 1e-3 / 75)
    assert not found.passed
    assert found.people == 4
    assert found.smallest_seen < 1.26
