"""The domains of problems have the names that their pictures and words use: one place for each."""

import numpy as np

import sottovoce as sv
from sampling import every
from sottovoce.lab.problems import PROBLEMS


@every("name", PROBLEMS)
def test_every_problem_has_names_and_its_decisions_are_said_in_them(name):
    problem = PROBLEMS[name].examples()[-1]
    assert problem.domain.labels is not None
    assert len(set(problem.domain.labels)) == problem.domain.dimension
    optimizer = problem.optimizer(horizon=500, privacy=sv.NoPrivacy(), seed=1)
    segments = problem.environment.segments
    action = optimizer.ask() if segments is None else optimizer.ask(segment=segments.names[-1])
    said = action.chosen
    assert said == problem.domain.chosen(action.x)
    assert said
    run = sv.lab.simulate(optimizer, problem.environment)
    assert run.details.decision
    stored = run.details.to_dict()
    assert type(run.details).from_dict(stored).decision == run.details.decision


def test_words_and_labels_are_the_same():
    slate = sv.lab.problems.Slate(items=8, slots=3, categories=2)
    best = slate.environment.comparator(1000).point
    assert {what for what, _ in slate.explain(best)[:3]} == set(slate.domain.chosen(best))
    ranking = sv.lab.problems.Ranking(items=5)
    best = ranking.environment.comparator(1000).point
    assert [what for what, _ in ranking.explain(best)[:5]] == ranking.domain.chosen(best)
    matrices = sv.lab.problems.Ranking(items=4, set="birkhoff")
    best = matrices.environment.comparator(1000).point
    assert [place for _, place in matrices.explain(best)[:4]] == [
        f"{matrices.domain.chosen(best)[what]} for 100%" for what, _ in matrices.explain(best)[:4]
    ]
    pricing = sv.lab.problems.Pricing()
    (what, much) = pricing.explain(pricing.environment.comparator(1000).point)[1]
    product, _, segment = what.partition(" for ")
    prices = pricing.domain.chosen(pricing.environment.comparator(1000).point)
    assert f"{prices[segment, product]:+.0%}" == much
    ball = sv.lab.problems.BallTracking(dimension=3)
    assert {what for what, _ in ball.explain(np.array([0.5, 0.1, 0.2]))} >= set(ball.domain.labels)


def test_minimize_names_what_it_found():
    found = sv.minimize(
        lambda x: float(x @ [0.9, 0.1, 0.8]),
        sv.domains.Simplex(["tea", "coffee", "cocoa"]),
        horizon=600,
        loss_range=(0, 1),
        privacy=sv.NoPrivacy(),
        losses="linear",
        integral=True,
        seed=1,
    )
    assert found.chosen == ["coffee"]
