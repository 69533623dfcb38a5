"""What a privacy officer reads: the right adversary for the right promise."""

import pytest

from sottovoce.privacy import GDP, ZCDP, ApproxDP, LocalDP, NoPrivacy, PureDP, guarantee_from_dict, state

PROMISES = [PureDP(1.0), ApproxDP(1.0, 1e-6), ZCDP(0.5), GDP(0.5), LocalDP(1.0, contributions=3), NoPrivacy()]


def statement_of(guarantee, simulated=False):
    return state(guarantee, mechanism="...", why="...", noise=None, simulated=simulated)


def test_local_privacy_distrusts_whoever_runs_the_optimizer():
    text = " ".join(str(statement_of(LocalDP(1.0))).split())
    assert "whoever runs the optimizer may be that adversary" in text
    assert "this begins at `tell`" not in text
    assert "this begins at `tell`" in " ".join(str(statement_of(PureDP(1.0))).split())


@pytest.mark.parametrize(
    ("guarantee", "epsilon", "delta"),
    [(PureDP(0.5), 0.5, 0.0), (LocalDP(0.5), 0.5, 0.0), (ApproxDP(0.5, 1e-6), 0.5, 1e-6), (ZCDP(0.5), None, None)],
)
def test_epsilon_and_delta_are_those_of_the_promise(guarantee, epsilon, delta):
    assert (statement_of(guarantee).epsilon, statement_of(guarantee).delta) == (epsilon, delta)


@pytest.mark.parametrize("guarantee", PROMISES)
def test_simulated_noise_keeps_no_promise(guarantee):
    statement = statement_of(guarantee, simulated=True)
    assert not statement.private
    assert "NOT PRIVATE" in str(statement)


@pytest.mark.parametrize("guarantee", PROMISES)
def test_promises_survive_being_written_down(guarantee):
    assert guarantee_from_dict(guarantee.to_dict()) == guarantee


def test_an_unknown_promise_is_refused():
    with pytest.raises(ValueError, match="kind must be one of PureDP"):
        guarantee_from_dict({"kind": "PinkyPromise"})
