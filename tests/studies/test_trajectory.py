"""A study and the in-memory optimizer with the same seeds and simulated noise give the same trajectory."""

import math

import networkx as nx
import numpy as np
import pytest
from histories import CASES as HISTORIES
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from study_tools import ball, believing, curved, probing, sums

import sottovoce as sv
from sampling import sampled

D = sv.domains
PLAYED = {  # of random histories, over a longer time
    name: HISTORIES[name] | ({"horizon": 100_000} if HISTORIES[name]["horizon"] else {})
    for name in (
        *("frames", "no privacy", "designs", "designs, every loss", "fresh noise", "local", "unknown horizon"),
        *("designs, unknown horizon", "probes", "probes, no privacy", "probes, local"),
        *("probes of an oracle", "probes on a ball", "probes on a simplex", "probes, unknown horizon"),
        *("probes on a ball, unknown horizon", "integral"),
    )
}
# Restarts are exact where the nearest point of the domain is a formula; elsewhere the projection is solved afresh, and
# a point is within its certified error of the exact one, as the one before was.
# Probes are exact everywhere: all that is believed follows from released numbers, which are kept as they are.
RESTARTED = {
    "restarted ball": ball(),
    "restarted box": ball(domain=D.Box(np.zeros(3), np.ones(3))),
    "restarted simplex": sums(),
    "restarted probing simplex": probing(),
    "restarted doubling": ball(horizon=None),
    "restarted slates": ball(domain=D.Hypersimplex(6, 2)),
    "restarted probes": believing(),
    "restarted probes of an oracle": believing(domain=D.SpanningTrees(nx.complete_graph(4))),
    "restarted probes in many dimensions": believing(domain=D.Hypersimplex(700, 3)),
    "restarted probes on a ball": curved(),
    "restarted probes in an uneven box": curved(domain=D.Box(np.zeros(3), np.array([1.0, 2.0, 9.0]))),
    "restarted doubling probes": believing(horizon=None),
    "restarted doubling probes on a ball": curved(horizon=None),
}
LONG = {  # rounds of several blocks, and not a whole number of passes over the directions in each
    "long frames": ball(batch_size=9001, directions=3, radius=0.2),
    "long designs": probing(domain=D.Ball(3), integral=False, rate=0.001, probe_events=9),
    "long sums": sums(probe_events=9001),
    "long spheres": ball(batch_size=9001, exploration="sphere"),
    "long probes": believing(least_events=3001),
    "long probes on a ball": curved(least_events=2251),
}
CASES = PLAYED | RESTARTED | LONG


def both(opened, url, arguments, seed=3):
    """Return an in-memory optimizer and a study with the same seeds."""
    arguments = dict(arguments)
    study = opened(url, noise=sv.SimulatedNoise(2), seed=seed, **arguments)
    return sv.PrivateBandit(arguments.pop("domain"), noise=sv.SimulatedNoise(2), seed=seed, **arguments), study


def feedback(x, privacy, study, rng):
    """Return the keyword arguments of `tell` for a block of actions."""
    losses = np.clip(0.5 + x @ np.arange(1, x.shape[1] + 1) / x.shape[1] ** 2, 0.0, 1.0)
    if isinstance(privacy, sv.LocalDP):
        return {"report": sv.local.simulate_reports(losses, study.channel, rng)}
    return {"losses": losses}


@pytest.mark.parametrize("case", sampled(CASES, 12))
def test_a_study_goes_where_the_optimizer_in_memory_goes(case, opened, sqlite_url):
    """To the last digit, though it is restarted between any two calls; but for rounding and what a solver leaves."""
    arguments, restarts = CASES[case], case not in PLAYED
    solved = 2e-3 * arguments["domain"].diameter if case == "restarted slates" else 0.0  # twice the certified error
    within = 1e-9 if restarts and isinstance(arguments["domain"], D.Simplex) else solved
    scale = 100 if case in LONG else 1
    memory, study = both(opened, sqlite_url, arguments)
    rng, waiting = np.random.default_rng(7), []
    for turn in range(20):
        if restarts:
            study.close()
            study = opened(sqlite_url, noise=sv.SimulatedNoise(2))
        if turn % 2 == 0:
            size = scale * int(rng.integers(1, 60))
            a, b = memory.ask(size), study.ask(size)
            assert np.allclose(a.x, b.x, rtol=0.0, atol=within)
            assert np.array_equal(a.wants_loss, b.wants_loss)
            waiting.append((a, b))
        else:
            a, b = waiting.pop(int(rng.integers(len(waiting))))
            told, order = feedback(a.x, arguments["privacy"], study, rng), rng.permutation(len(a))
            for optimizer, ids in ((memory, a.ids), (study, b.ids)):
                optimizer.tell(ids[order], **{name: values[order] for name, values in told.items()})
        assert study.round == memory.round
        assert np.allclose(study.point, memory.point, rtol=0.0, atol=within)
        assert study.status().outstanding == len(memory.outstanding())
    assert memory.round >= 2
    assert not np.allclose(study.point, arguments["domain"].center, atol=1e-6)  # it has gone somewhere


STEPS = st.lists(
    st.tuples(st.sampled_from(["ask", "block", "round", "tell", "lose", "forget", "restart"]), st.integers(1, 30)),
    min_size=8,
    max_size=24,
)
LOSSY = {
    "sums": sums(),
    "probes": probing(domain=D.Ball(3), integral=False),
    "frames": ball(privacy=sv.NoPrivacy()),
    "doubling": ball(horizon=None),
    "believers": believing(),
    "believers on a ball": curved(horizon=None),
}


@given(steps=STEPS, patience=st.sampled_from([0, 1, 7, 20, 40]))
@example(steps=[("ask", 1)] * 9 + [("block", 4), ("restart", 1)], patience=0)  # what is given back may take no loss
@example(
    steps=[("ask", 1)] * 11 + [("tell", 1), ("ask", 1), ("block", 12), ("restart", 1), ("ask", 1)], patience=0
)  # the point is computed anew
@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("case", sampled(LOSSY, {"probes", "frames", "doubling", "believers"}, str))
def test_lost_asks_are_given_up_at_the_same_step_as_in_memory(case, steps, patience, tmp_path_factory):
    """Whether asked one by one, in blocks or by rounds; told out of order, lost or forgotten; across restarts, too."""
    arguments = {**LOSSY[case], "patience": patience}
    url = f"sqlite:///{tmp_path_factory.mktemp('lossy') / 'study.db'}"
    study = sv.Study.open(url, name="study", seed=3, **arguments)
    memory = sv.PrivateBandit(arguments.pop("domain"), seed=3, **arguments)
    waiting = []
    # Where it is not by formula, a restart may move the point by its certified error.
    within = 2 * math.sqrt(study.plan.gap) if case in ("sums", "probes") else 0.0
    for what, size in steps:
        if what == "restart":
            study.close()
            study = sv.Study.open(url, name="study")
        elif what in ("ask", "block", "round"):
            a, b = _asked(memory, what, size), _asked(study, what, size)
            assert np.allclose(a.x, b.x, rtol=0, atol=within)
            waiting += list(zip(a.ids.tolist(), b.ids.tolist(), (0.5 + 0.1 * a.x[:, 0]).tolist(), strict=True))
        else:
            mine, waiting = waiting[-size:], waiting[:-size]  # the newest first; what is lost is never heard of again
            ids, names, losses = (list(one) for one in zip(*mine, strict=True)) if mine else ([], [], [])
            if what == "tell":
                memory.tell(np.array(ids, dtype=int), losses, late="drop")
                study.tell(names, losses, late="drop")
            elif what == "forget":
                assert memory.forget(np.array(ids, dtype=int)) == study.forget(names)
        for one in (study, memory):
            one.recommend()  # looking releases what is complete, even if it wanted no loss of the last actions
        assert study.round == memory.round
        assert study.status().outstanding == len(memory.outstanding())
    assert np.allclose(study.point, memory.point, rtol=0, atol=within)
    found = study.verify()
    study.close()
    assert found.ok, str(found)


def _asked(optimizer, what, size):
    if what == "round":
        return optimizer.ask_round(most=size)
    if what == "block":
        return optimizer.ask(size)
    one = optimizer.ask()
    return sv.Actions(np.array([one.id]), one.x[None], np.array([one.wants_loss]))
