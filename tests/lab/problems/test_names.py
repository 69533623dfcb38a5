"""The domains of problems have the names that their pictures and words use: one place for each."""

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
