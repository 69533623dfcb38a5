"""Audits of what ships. With real noise the outcome is random: each test states how often it fails by bad luck."""

import pytest

import sottovoce as sv
from planted import with_less_noise
from sampling import sampled
from sottovoce.auditing import Configuration, MechanismAlone, audit, evaluations_shipped, run_all, shipped
from sottovoce.plans import EXPLORATIONS
from sottovoce.privacy import MECHANISMS

SURE = 1 - 1e-6  # a false alarm in at most one of a million audits
EPSILON = 1.0  # at this confidence 400 runs that are all told apart show 1.85: a claim of 2 could not be refuted


def ids(configurations):
    return [one.label for one in configurations]


# Aligned by test_segments.py, test_items.py and test_changes.py, exactly; by runs others of their kind show as much.
ALIGNED = (
    *("12 segments", "segments of factors", "segments, patience", "segments, probe-sums, 2 events"),
    *("items, segments", "a set that changes"),
)
QUICK = [
    one
    for one in shipped(EPSILON)
    if one.kind == "optimizer"
    and one.horizon is not None
    and not any(part in one.label for part in ALIGNED)
    # Gaussian noise of running sums is audited below, with a delta; that of numbers once.
    and ("zCDP" not in one.label or one.label == "frames, probe-sums, zCDP")
]


@pytest.mark.parametrize("configuration", sampled(QUICK, {"frames, patience of 1, probe-sums"}, ids(QUICK)))
def test_the_real_optimizer_with_real_noise_keeps_its_claim(configuration):
    found = audit(configuration, runs=400, confidence=SURE)
    assert found.passed
    assert not found.simulated
    assert found.epsilon_claimed >= EPSILON


@pytest.mark.long
def test_owners_with_several_reports_keep_their_privacy():
    choices = {"exploration": "frames", "batch_size": 4}
    several = Configuration(sv.domains.Box(0.0, 1.0, 1), sv.LocalDP(2.0, contributions=2), 8, choices)
    assert audit(several, runs=1000, confidence=SURE).passed


SPHERES = [one for one in shipped(EPSILON, 0.01) if one.plan.exploration == "sphere"]
GAUSSIAN = [one for one in SPHERES if one.plan.noise.family == "gaussian"]


@pytest.mark.parametrize("configuration", sampled(GAUSSIAN, {"sphere, tree"}, ids(GAUSSIAN)))
def test_the_real_optimizer_with_real_noise_keeps_approximate_privacy(configuration):
    found = audit(configuration, runs=400, confidence=SURE)
    assert found.passed
    assert found.delta == 0.01


ONE_OF_EACH = [next(one for one in QUICK if one.label == "frames, probe-sums"), GAUSSIAN[0]]


@pytest.mark.parametrize("configuration", sampled(ONE_OF_EACH, 1, ids(ONE_OF_EACH)))
def test_these_audits_would_see_that_noise_is_missing(configuration):
    found = audit(with_less_noise(configuration, 0.01), runs=400, confidence=SURE, noise_seed=0)
    assert not found.passed


def test_every_mechanism_exploration_and_evaluation_is_in_the_whole_audit():
    """What `sottovoce audit` goes through: every one by its runs, but for what is large, and the alignments."""
    audited = {one.plan.mechanism for one in shipped(1.0, 0.01) + shipped(1.0)}
    assert audited == set(MECHANISMS) - {"none"}
    assert {one.plan.exploration for one in shipped()} == set(EXPLORATIONS)
    for only in ("", "probe-sums", "local"):
        parts = {name for name, _ in run_all._parts(1.0, 0.0, only, 400, 1)}
        all_of_it = [*shipped(), *evaluations_shipped()]
        wanted = {one.label for one in all_of_it if one.by_runs and only in one.label}
        assert wanted <= parts, wanted - parts
        assert ("alignments" in parts) == (only != "local")
    evaluations = evaluations_shipped()
    assert [run_all._alignable(one) for one in evaluations] == [one.alignable for one in evaluations]


ALONE = [
    (name, privacy)
    for name in MECHANISMS
    for privacy in (sv.PureDP(1.0), sv.PureDP(1.0, contributions=3), sv.ZCDP(0.5))
    if MECHANISMS[name].noised and MECHANISMS[name].serves(privacy)
]


@pytest.mark.parametrize(("name", "privacy"), sampled(ALONE, 4, [f"{name}, {privacy}" for name, privacy in ALONE]))
def test_a_mechanism_alone_keeps_its_claim_and_uses_most_of_it(name, privacy):
    """The bound must come near the claim, or the audit would be too weak to mean anything. Repeatable: simulated."""
    found = audit(MechanismAlone(name, privacy), runs=40_000, noise_seed=5)
    assert found.passed
    assert found.epsilon_lower > 0.65 * found.epsilon_claimed


@pytest.mark.long
def test_a_bound_is_wrong_no_more_often_than_its_confidence_says():
    """Of 100 audits at 90%, of a mechanism that spends all it claims, 24 false alarms would have probability 4e-5."""
    subject = MechanismAlone("fresh", sv.PureDP(1.0), rounds=1)
    alarms = sum(not audit(subject, runs=800, confidence=0.9, noise_seed=seed).passed for seed in range(100))
    assert alarms < 24


def test_a_claim_below_the_truth_is_refuted():
    honest = MechanismAlone("fresh", sv.PureDP(1.0), rounds=2)
    found = audit(honest, claimed=sv.PureDP(0.5), runs=8000, noise_seed=1)
    assert not found.passed
    assert 0.5 < found.epsilon_lower < 1.0
    assert not audit(MechanismAlone("fresh", sv.ZCDP(0.5)), claimed=sv.ZCDP(0.125), runs=8000, noise_seed=1).passed


SMALL = Configuration(sv.domains.Simplex(2), sv.PureDP(1.0), horizon=8, choices={"plan": "worst-case", "batch_size": 4})


@pytest.fixture(scope="module")
def small():
    """An audit of the small one in this process."""
    return audit(SMALL, runs=401, noise_seed=3, label="a small one")


@pytest.mark.long
def test_processes_change_nothing_but_the_time(small):
    together = audit(SMALL, runs=401, noise_seed=3, label="a small one", workers=2)
    assert small.to_dict() == together.to_dict()


def test_the_result_says_what_was_and_was_not_shown(small):
    words = " ".join(str(small).split())
    for part in (
        "a small one",
        "never prove it",
        "99.9% confidence",
        "NOT PRIVATE",
        "not refuted",
        "guesses that were made",
    ):
        assert part in words
    assert small.to_dict()["simulated_noise"] is True


def test_what_cannot_be_audited_is_refused():
    without = Configuration(sv.domains.Ball(2), sv.NoPrivacy(), horizon=8)
    with pytest.raises(ValueError, match="promises nothing"):
        audit(without)
    with pytest.raises(ValueError, match="nothing is ever released"):
        audit(Configuration(sv.domains.Simplex(2), sv.PureDP(1.0), horizon=4, choices=SMALL.choices))
    with pytest.raises(ValueError, match="do not fit into one round"):
        audit(SMALL, claimed=sv.PureDP(1.0, contributions=3), runs=400)
    with pytest.raises(ValueError, match="runs must be at least 400"):
        audit(SMALL, runs=10)
