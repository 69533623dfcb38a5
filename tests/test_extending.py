"""A new mechanism, or a new way of exploring, is one value in one table: then it works everywhere, or is refused.

What CONTRIBUTING walks through is done here to the letter.
"""

import json
from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from sottovoce.auditing import align, audit, mechanisms_alone, shipped
from sottovoce.plans import EXPLORATIONS, ExplorationKind
from sottovoce.plans.draft import ProbeDraft
from sottovoce.plans.frames import Frames
from sottovoce.plans.plan import Options
from sottovoce.privacy import MECHANISMS, Mechanism, ProbeSums, PureDP
from sottovoce.privacy.noise import laplace_for


class TwiceProbeSums(ProbeSums):
    """Probe sums whose every number is drawn with twice the noise that it needs."""


TWICE = Mechanism(
    name="twice",
    takes=("numbers",),
    releases="rounds",
    guarantees=(PureDP,),
    noise=lambda guarantee, sensitivity: laplace_for(2 * guarantee.contributions * sensitivity.l1, guarantee.epsilon),
    open=lambda sensitivity, sampler: TwiceProbeSums(sampler),
)


@pytest.fixture
def twice(monkeypatch):
    monkeypatch.setitem(MECHANISMS, TWICE.name, TWICE)


def box(**more):
    return {"horizon": 200, "loss_range": (0.0, 1.0), "privacy": sv.PureDP(1.0), **more}


def played(optimizer):
    while optimizer.remaining:
        actions = optimizer.ask_round()
        optimizer.tell(actions.ids, actions.x[:, 0])
    return optimizer


def test_a_mechanism_that_is_registered_is_planned_run_and_stated(twice):
    optimizer = sv.PrivateBandit(sv.domains.Box(0.0, 1.0, 2), mechanism="twice", noise=sv.SimulatedNoise(0), **box())
    assert isinstance(optimizer._policy.current().mechanism, TwiceProbeSums)
    assert optimizer.plan.mechanism == "twice"
    usual = sv.plan(sv.domains.Box(0.0, 1.0, 2), **box(), rehearse=False, mechanism="probe-sums")
    assert optimizer.plan.noise.scale == 2 * usual.noise.scale
    assert "with twice" in str(optimizer.privacy)
    assert played(optimizer).round > 1


def test_it_survives_in_a_study(twice, tmp_path):
    url = f"sqlite:///{tmp_path / 'study.db'}"
    with sv.Study.open(url, name="toy", domain=sv.domains.Box(0.0, 1.0, 2), mechanism="twice", **box()) as study:
        study.tell(study.ask().id, 0.5)
    with sv.Study.open(url, name="toy") as study:
        assert study.plan.mechanism == "twice"
        assert study.verify().ok


def test_it_is_audited(twice):
    (configuration,) = (one for one in shipped() if one.plan.mechanism == "twice")
    assert align(configuration, most=12).passed
    assert audit(configuration, runs=400, noise_seed=1).passed
    assert any(one.name == "twice" for one in mechanisms_alone())


@every("plan", ["auto", "worst-case", "paper"])
@every("privacy", [sv.PureDP(1.0), sv.NoPrivacy(), sv.LocalDP(1.0)])
def test_a_mechanism_that_says_nothing_is_never_taken_unasked(monkeypatch, plan, privacy):
    better = replace(TWICE, name="better", noise=lambda guarantee, sensitivity: laplace_for(1, 1e3 * guarantee.epsilon))
    silent = replace(TWICE, name="silent", guarantees=(sv.PureDP, sv.NoPrivacy, sv.LocalDP), noised=False)
    for one in (better, silent):
        monkeypatch.setitem(MECHANISMS, one.name, one)
    for losses in ("convex", "linear"):
        made = sv.plan(sv.domains.Box(0.0, 1.0, 2), **box(plan=plan, losses=losses, privacy=privacy), rehearse=False)
        assert made.mechanism not in ("better", "silent")
        assert not any("better" in other.what or "silent" in other.what for other in made.alternatives)


def test_what_it_cannot_do_is_refused_with_the_reason(twice):
    domain = sv.domains.Box(0.0, 1.0, 2)
    with pytest.raises(ValueError, match="these do: tree, fresh"):
        sv.PrivateBandit(domain, mechanism="twice", exploration="sphere", **box())
    with pytest.raises(ValueError, match="mechanism 'twice' does not give rho"):
        sv.PrivateBandit(domain, mechanism="twice", **box(privacy=sv.ZCDP(0.5)))


def test_an_unknown_name_is_an_error_at_the_door():
    with pytest.raises(ValueError, match="mechanism must be one of 'probe-sums', 'item-sums', 'tree'"):
        sv.PrivateBandit(sv.domains.Ball(2), mechanism="twice", **box())
    with pytest.raises(ValueError, match="exploration must be one of 'posterior', 'items', 'designs', 'frames'"):
        sv.PrivateBandit(sv.domains.Ball(2), exploration="toy", **box())


@pytest.fixture
def toy_exploration(monkeypatch):
    monkeypatch.setattr(Options, "_kinds", dict(Options._kinds))

    from dataclasses import dataclass

    @dataclass(frozen=True)
    class ToyOptions(Options, exploration="toy"):
        reach: float

        def words(self):
            return f"one direction at a time, at {self.reach:g}"

    class ToyDraft(ProbeDraft):
        def bound_at(self, deviation):
            return 1.0  # an order of magnitude: it does not say that it is more

    toy = ExplorationKind(
        gives="numbers",
        options=ToyOptions,
        choices={"reach": lambda problem, value: float(value)},
        drafts=lambda problem, mechanism, chosen: [ToyDraft(problem, problem.placement("plain"), ToyOptions(0.1), 4)],
        build=lambda problem, plan, placement: Frames(
            placement, plan.reach, plan.batch_size, problem.play, plan.baseline, directions=1
        ),
    )
    monkeypatch.setitem(EXPLORATIONS, toy.name, toy)
    return toy


def test_a_way_of_exploring_that_is_registered_is_planned_run_stored_and_audited(toy_exploration, tmp_path):
    domain = sv.domains.Box(0.0, 1.0, 2)
    options = box(exploration="toy", reach=0.2)
    optimizer = played(sv.PrivateBandit(domain, noise=sv.SimulatedNoise(0), **options))
    assert optimizer.plan.reach == 0.2
    assert "one direction at a time, at 0.2" in str(optimizer.plan)
    assert np.isfinite(optimizer.point).all()
    url = f"sqlite:///{tmp_path / 'study.db'}"
    with sv.Study.open(url, name="toy", domain=domain, **options) as study:
        block = study.ask(40)
        study.tell(block.ids, block.x[:, 0])
    with sv.Study.open(url, name="toy") as study:
        assert study.plan.exploration == "toy"
        assert study.verify().ok
        json.dumps(study.export())


@every("losses", ["convex", "linear"])
@every("plan", ["auto", "worst-case"])
@every("play", ["inside", "around"])
def test_a_way_of_exploring_that_says_nothing_is_never_taken_unasked(toy_exploration, plan, losses, play):
    made = sv.plan(sv.domains.Box(0.0, 1.0, 2), **box(plan=plan, losses=losses, play=play), rehearse=False)
    assert made.exploration != "toy"  # though its bound is the least there is
    assert not any("toy" in other.what for other in made.alternatives)


def test_a_way_of_exploring_that_says_nothing_has_no_bound_against_any_sequence(toy_exploration):
    domain = sv.domains.Box(0.0, 1.0, 2)
    with pytest.raises(ValueError, match="exploration='toy' has no bound for any sequence"):
        sv.PrivateBandit(domain, **box(exploration="toy", plan="worst-case"))
    made = sv.plan(domain, **box(exploration="toy"), rehearse=0.02)
    assert made.order_only
    said = dict(made.rows)
    assert said["bound"].startswith("none")
    for claim in ("any sequence", "whatever the losses", "at most"):
        assert claim not in said["rests on"]
    assert "regret is at most" not in str(made)
    assert "any sequence" not in str(sv.PrivateBandit(domain, **box(exploration="toy")).privacy)
