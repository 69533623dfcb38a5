"""What a privacy officer reads: the right adversary for the right promise."""

import warnings

import numpy as np
import pytest

from sampling import every
from sottovoce.privacy import ZCDP, ApproxDP, LocalDP, NoPrivacy, PureDP, guarantee_from_dict, state
from sottovoce.privacy.promise import cautions_of

PROMISES = [PureDP(1.0), ApproxDP(1.0, 1e-6), ZCDP(0.5), LocalDP(1.0, contributions=3), NoPrivacy()]


def statement_of(guarantee, simulated=False):
    return state(guarantee, mechanism="...", why="...", noise=None, simulated=simulated)


def test_local_privacy_distrusts_whoever_runs_the_optimizer():
    text = " ".join(str(statement_of(LocalDP(1.0))).split())
    assert "whoever runs the optimizer may be that adversary" in text
    assert "begins where they are told" not in text
    assert "begins where they are told" in " ".join(str(statement_of(PureDP(1.0))).split())


@every("guarantee", PROMISES)
def test_a_promise_survives_being_written_down_and_is_not_kept_by_simulated_noise(guarantee):
    assert guarantee_from_dict(guarantee.to_dict()) == guarantee
    statement = statement_of(guarantee, simulated=True)
    assert not statement.private
    assert "NOT PRIVATE" in str(statement)


@every("guarantee", PROMISES[:-1])
def test_contributions_are_stated_and_no_markup_is_shown(guarantee):
    said = " ".join(str(statement_of(guarantee)).split())
    assert f"(contributions = {guarantee.contributions})" in said
    assert f"people who take part in more than {'one event' if guarantee.contributions == 1 else '3 events'}" in said
    assert "`" not in said


@every(
    ("guarantee", "horizon", "words"),
    [
        (PureDP(10.0), 100, None),
        (PureDP(10.1), 100, "epsilon = 10.1 protects hardly anybody"),
        (ZCDP(60.0), None, "rho = 60 protects hardly anybody"),
        (PureDP(1e-7), None, "epsilon = 1e-07 hides a million losses"),
        (PureDP(1e-6), 10**7, None),
        (PureDP(0.001), 500, "epsilon = 0.001 lets next to nothing be learned from 500 events"),
        (PureDP(1.0, contributions=101), 100, "contributions = 101, and there are only 100 events"),
        (PureDP(1.0, contributions=100), 100, None),
        (NoPrivacy(), 1, None),
    ],
)
def test_promises_that_protect_nobody_or_teach_nothing_are_cautioned_against(guarantee, horizon, words):
    found = cautions_of(guarantee, horizon)
    assert [one[: len(words)] for one in found] == [words] if words else found == ()


@every("make", [PureDP, ZCDP, LocalDP, lambda value: ApproxDP(value, 1e-6), lambda value: ApproxDP(1.0, value)])
def test_a_budget_is_a_positive_and_finite_number(make):
    for value in (0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=r"(epsilon|rho|delta) must be"):
            make(value)
    for value in ("1", True, False, np.True_, b"1", None, 1j, [1.0]):
        with pytest.raises(TypeError, match="must be a number"):
            make(value)


def test_contributions_are_whole_and_a_delta_that_allows_publishing_people_is_refused():
    for contributions in (True, "2", 1.5, 0):
        with pytest.raises((TypeError, ValueError), match="contributions must be"):
            PureDP(1.0, contributions)
    for delta in (0.5, 0.011, 0.999):
        with pytest.raises(
            ValueError, match=r"delta must be at most 0.01, got .*publishing everything of one person in"
        ):
            ApproxDP(1.0, delta)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ApproxDP(1.0, 0.01).delta == 0.01


def test_an_unknown_promise_is_refused():
    with pytest.raises(ValueError, match="kind must be one of PureDP"):
        guarantee_from_dict({"kind": "PinkyPromise"})
