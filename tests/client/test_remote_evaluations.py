"""Evaluations behind a service are used like those in memory; what is lost on the way is repeated, and counts once."""

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.client import Retries
from sottovoce.errors import (
    ConfigurationMismatch,
    HorizonReached,
    InvalidLoss,
    NotReleased,
    RoundClosed,
    UnknownAction,
    WrongReport,
)

QUICK = Retries(attempts=4, first=0.01, longest=0.1)


@pytest.fixture
def storage(tmp_path):
    return f"sqlite:///{tmp_path}/trials.db"


def create(storage, **changes):
    making = {"loss_range": (0.0, 1.0), "privacy": sv.PureDP(1.0), "seed": 3} | changes
    sv.PrivateEvaluations(storage=storage, name="checkout", **making).close()


def conduct(evaluations):
    """Two evaluations at once; return what was met, and what was released."""
    a, b = evaluations.open(events=20), evaluations.open(events=30)
    met = []
    for _ in range(20):
        shown, person = evaluations.assign()
        assert shown in (a, b)
        met.append(shown.number)
        shown.tell(0.25, ids=person)
    ids = b.assign(size=5)
    b.tell(np.linspace(0, 1, 4), ids=ids[1:])
    b.forget(ids[0])
    a.tell([0.5] * 10)
    b.close()
    return met, [(one.number, one.events, one.total, one.mean, one.standard_error) for one in evaluations.results]


def test_the_service_counts_people(storage, serving):
    create(storage, privacy=sv.PureDP(1.0, contributions=2))
    with serving(storage, dev=True) as url, sv.connect(url, evaluations="checkout", raw_losses=True) as remote:
        one = remote.open(events=9)
        assert remote.assign(person="ada").wants_loss
        assert [met.wants_loss for met in remote.assign(3, person=["ada", "ada", "grace"])] == [True, False, True]
        one.tell([0.5, 0.5], person=["grace", "grace"])
        one.tell(0.5, ids=one.assign(person="ada"))
        assert len(one.outstanding) == 3  # ada's two, and one of grace's: what is beyond is dropped
        assert remote.erase_people() == 2


def test_over_http_and_in_memory_evaluations_go_the_same_way(storage, serving):
    making = {"loss_range": (0.0, 1.0), "privacy": sv.PureDP(1.0), "seed": 3, "noise": sv.SimulatedNoise(5)}
    expected = conduct(sv.PrivateEvaluations(**making))
    create(storage, noise=sv.SimulatedNoise(5))
    with (
        serving(storage, dev=True, simulated=5) as url,
        sv.connect(url, evaluations="checkout", raw_losses=True) as remote,
    ):
        assert conduct(remote) == expected
        assert remote.evaluation(0).interval(0.9) == remote.results[0].interval(0.9)
        assert remote.loss_range == (0.0, 1.0)
        assert remote.channel is None


def test_errors_are_those_of_the_library(storage, serving):
    create(storage)
    with (
        serving(storage, dev=True) as url,
        sv.connect(url, evaluations="checkout", retries=QUICK, raw_losses=True) as remote,
    ):
        evaluation = remote.open(events=4)
        person = evaluation.assign()
        with pytest.raises(NotReleased, match="3 of its 4 places are not taken, and 1 that are have no loss"):
            _ = evaluation.mean
        assert (evaluation.events, evaluation.assigned, evaluation.remaining) == (4, 1, 3)
        assert remote.open_evaluations == (evaluation,)
        for losses, ids, refusal in (
            (np.nan, None, InvalidLoss),
            ([0.5, np.inf], [person, person], InvalidLoss),
            ([0.5] * 4, None, HorizonReached),
            ([[0.5, 0.5]], None, InvalidLoss),
            (0.5, "1.0.3.0123456789ab", UnknownAction),
            ([0.5, 0.5], [person], ValueError),
        ):
            with pytest.raises(refusal):
                evaluation.tell(losses, ids=ids)
        assert evaluation.assigned == 1  # nobody was assigned for what was refused
        with pytest.raises(WrongReport):
            evaluation.tell(report=1, ids=person)
        with pytest.raises(UnknownAction):
            remote.evaluation(7)
        assert remote.forget([person]) == 1
        with pytest.raises(RoundClosed):
            remote.tell(person, 0.5)
        assert remote.tell(person, 0.5, late="drop").dropped == 1
        evaluation.abandon()
        assert (evaluation.abandoned, evaluation.closed) == (True, False)
        with pytest.raises(NotReleased, match="was abandoned"):
            _ = evaluation.mean


def test_no_raw_loss_is_sent_where_reports_are_wanted(storage, serving):
    create(storage, privacy=sv.LocalDP(1.0))
    with serving(storage, dev=True) as url:
        with sv.connect(url, evaluations="checkout", privacy=sv.LocalDP(1.0)) as remote:
            evaluation = remote.open(events=3)
            for losses in (0.5, [0.5] * 3):
                with pytest.raises(WrongReport):
                    evaluation.tell(losses)
            assert evaluation.assigned == 0
            reports = [sv.local.privatise(0.5, remote.channel) for _ in range(3)]
            evaluation.tell(report=reports)
            assert evaluation.result.total == sum(reports)
        with sv.connect(url, evaluations="checkout", privacy=sv.LocalDP(0.1)) as strict:
            evaluation = strict.open(events=3)
            with pytest.raises(ConfigurationMismatch, match="nothing was reported"):
                evaluation.tell(report=[1, 1, 1])
        with sv.connect(url, evaluations="checkout") as silent, pytest.raises(TypeError, match=r"privacy=sv\.LocalDP"):
            _ = silent.channel


def test_no_raw_loss_is_sent_unless_the_caller_has_said_so_in_words(storage, serving):
    create(storage)
    with serving(storage, dev=True) as url, sv.connect(url, evaluations="checkout") as remote:
        evaluation, person = remote.open(events=3), None
        with pytest.raises(ConfigurationMismatch, match="raw_losses=True"):
            evaluation.tell([0.5] * 3)
        assert evaluation.assigned == 0
        person = evaluation.assign()
        for tell in (remote.tell, lambda ids, loss: evaluation.tell(loss, ids=ids)):
            with pytest.raises(ConfigurationMismatch, match="raw_losses=True"):
                tell(person, 0.5)
        assert list(evaluation.outstanding) == [person]
        assert remote.channel is None


def test_evaluations_are_in_place_of_a_study():
    with pytest.raises(ValueError, match="evaluations= in its place"):
        sv.connect("https://decide.example", evaluations="checkout", study="spring")
