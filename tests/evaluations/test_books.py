"""What is told is counted once, where it belongs, in memory and in storages; nothing private decides when it closes."""

import copy
import json
import pickle
import uuid

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sottovoce as sv
from children import is_refused_after_a_fork
from sampling import every
from shown import shows
from sottovoce.errors import (
    AlreadyTold,
    ConfigurationMismatch,
    CopyRefused,
    HorizonReached,
    InvalidLoss,
    LedgerExceeded,
    NotReleased,
    RoundClosed,
    StudyNotFound,
    UnknownAction,
    WrongReport,
)
from storages import outside

RANGE, PURE = (0.0, 1.0), sv.PureDP(epsilon=1.0)
PLANTED = 0.187654321
INTEGER = round(PLANTED * 2**18)
TRACES = ("1876", str(INTEGER), repr(INTEGER.to_bytes(4, "big"))[2:-1], INTEGER.to_bytes(4, "big").hex())


# ---------------------------------------------------------------------- what is counted


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_the_mean_is_that_of_all_places_however_losses_arrive(evaluate, data):
    """Against a recount: blocks and single losses, by id and without, in any order, some forgotten."""
    evaluations = evaluate(name=uuid.uuid4().hex, seed=data.draw(st.integers(0, 99)), patience=None)
    opened = [evaluations.open(data.draw(st.integers(1, 12))) for _ in range(data.draw(st.integers(1, 3)))]
    counted = {one.number: [] for one in opened}
    waiting = []
    while any(not one.closed for one in opened):
        one = data.draw(st.sampled_from([one for one in opened if not one.closed]))
        loss = st.floats(-0.5, 1.5)
        match data.draw(st.sampled_from(["tell", "block", "assign", "coins", "answer", "forget"])):
            case "tell" if one.remaining:
                value = data.draw(loss)
                one.tell(value)
                counted[one.number].append(value)
            case "block" if one.remaining:
                values = data.draw(st.lists(loss, min_size=1, max_size=one.remaining))
                one.tell(np.array(values))
                counted[one.number] += values
            case "assign" if one.remaining:
                size = data.draw(st.integers(1, one.remaining))
                waiting += [(one, person) for person in one.assign(size=size).tolist()]
            case "coins" if any(other.remaining for other in opened):
                waiting.append(evaluations.assign())
            case "answer" if waiting:
                met, person = waiting.pop(data.draw(st.integers(0, len(waiting) - 1)))
                value = data.draw(loss)
                met.tell(value, ids=person)
                counted[met.number].append(value)
            case "forget" if waiting:
                met, person = waiting.pop(data.draw(st.integers(0, len(waiting) - 1)))
                assert met.forget(person) == 1
                counted[met.number].append(0.5)
    for one in opened:
        expected = np.clip(counted[one.number], 0.0, 1.0)
        assert len(expected) == one.events
        assert one.mean == pytest.approx(expected.mean(), abs=2**-18)


def test_the_same_calls_meet_the_same_and_release_the_same_sums_wherever_they_are(evaluate, plain):
    losses, found = np.random.default_rng(1).random(40), []
    for evaluations in (sv.PrivateEvaluations(**plain, patience=None), evaluate(seed=3, patience=None)):
        a, b = evaluations.open(events=20), evaluations.open(events=20)
        waiting = [*(evaluations.assign() for _ in range(6)), *evaluations.assign(size=4)]
        a.tell(losses[:5])
        b.tell(losses[5])
        ids = b.assign(size=4)
        b.tell(losses[6:9], ids=ids[1:])
        assert b.forget(ids) == 1
        for number, (one, person) in enumerate(waiting):
            one.tell(losses[10 + number], ids=person)
        a.close()
        b.close()
        met = [one.number for one, _ in waiting]
        found.append([met, *((one.number, one.events, one.total) for one in evaluations.results)])
        assert [one.closed for one in (a, b)] == [True, True]
    assert found[0] == found[1]


def test_ids_are_told_and_forgotten_without_their_evaluations(evaluate):
    evaluations = evaluate(seed=1, repeat="ignore")
    a, b = evaluations.open(events=3), evaluations.open(events=3)
    ids = [person for _, person in evaluations.assign(size=6)]
    assert evaluations.tell(ids[:4], [0.25] * 4) == (4, 0, 0)
    assert evaluations.tell(ids[2:5], [0.5] * 3) == (1, 2, 0)
    assert evaluations.forget(ids) == 1
    assert evaluations.tell(ids[5], 0.5, late="drop") == (0, 0, 1)
    assert sorted([a.mean * 3, b.mean * 3]) in ([0.75, 1.25], [1.0, 1.0])
    assert [evaluations.evaluation(number) for number in (0, 1)] == [a, b]
    with pytest.raises(UnknownAction):
        evaluations.evaluation(2)
    json.dumps(evaluations.export())
    assert evaluations.verify().ok


def test_what_was_told_survives_and_any_process_goes_on(url, opened, plain):
    first = opened(url, **plain)
    evaluation = first.open(events=4)
    person = evaluation.assign()
    evaluation.tell([0.25, 0.5])
    assert repr(evaluation) == "Evaluation(0, events=4, assigned=3, open)"
    first.close()
    assert repr(evaluation) == "Evaluation(0, of a connection that is closed)"
    assert repr(first).startswith("PrivateEvaluations('trials' at '")
    for use in (lambda: evaluation.tell(0.5), lambda: evaluation.remaining):
        with pytest.raises(sv.errors.StorageError, match="is closed"):
            use()
    again = opened(url)
    assert (again.seed, again.loss_range, again.created) == (3, (0.0, 1.0), False)
    (evaluation,) = again.open_evaluations
    assert (evaluation.number, evaluation.events, evaluation.assigned, evaluation.remaining) == (0, 4, 3, 1)
    assert evaluation.outstanding.tolist() == [person]
    evaluation.tell(0.75, ids=person)
    evaluation.tell(0.5)
    assert evaluation.mean == opened(url).evaluation(0).mean == 0.5
    assert again.results == opened(url).results
    assert outside(url, "SELECT 1 FROM sottovoce_chunks") == []


# ---------------------------------------------------------------------- when one closes


def test_reading_before_it_is_closed_is_an_error_that_says_what_is_missing(evaluate):
    one = evaluate(privacy=PURE, noise=sv.SimulatedNoise(3)).open(events=10)
    ids = one.assign(size=7)
    one.tell(np.full(5, PLANTED), ids=ids[:5])
    words = "3 of its 10 places are not taken, and 2 that are have no loss"
    for read in (lambda: one.mean, lambda: one.standard_error, one.interval, lambda: one.result):
        with pytest.raises(NotReleased, match=words) as found:
            read()
        assert not shows(found.value, *TRACES)
    one.tell([0.1] * 2, ids=ids[5:])
    one.tell([0.1] * 3)
    assert len({one.mean for _ in range(20)}) == 1
    assert one.result is one.result


def test_an_evaluation_is_ended_with_those_who_were_assigned(two):
    evaluations, elsewhere = two(variance=True)
    evaluation, other = evaluations.open(events=100), evaluations.open(events=100)
    with pytest.raises(ValueError, match="nobody was assigned"):
        evaluation.close()
    for _ in range(20):
        one, person = evaluations.assign()
        one.tell(1.0, ids=person)
    elsewhere.evaluation(0).tell([0.0, 0.0])
    waiting = elsewhere.evaluation(0).assign()
    evaluation.close()
    evaluation.close()
    assert (evaluation.result.events, evaluation.mean) == (13, 10.5 / 13)  # a missing loss is the middle of the range
    assert (evaluation.remaining, evaluation.closed, len(evaluation.outstanding)) == (0, True, 0)
    assert evaluation.result.squares == 12 * 2**18 // 4
    assert elsewhere.evaluation(0).mean == evaluation.mean
    with pytest.raises(HorizonReached, match="is closed"):
        elsewhere.evaluation(0).tell(1.0)
    with pytest.raises(RoundClosed):
        evaluation.tell(0.5, ids=waiting)
    assert evaluations.assign().evaluation is other


def test_patience_is_counted_in_later_people_of_all_processes(two):
    evaluations, elsewhere = two(patience=6)
    evaluation = evaluations.open(events=4)
    ids = evaluation.assign(size=4)
    evaluation.tell([1.0] * 3, ids=ids[:3])
    later = elsewhere.open(events=100)
    later.assign(size=3)
    later.tell([0.0] * 3)
    assert not evaluation.closed  # six came after it, and only the next call looks
    later.assign()
    assert evaluation.closed
    assert evaluation.mean == (3.0 + 0.5) / 4
    with pytest.raises(RoundClosed, match="was closed without its loss"):
        evaluation.tell(1.0, ids=ids[3])
    evaluation.tell(1.0, ids=ids[3], late="drop")
    assert evaluation.mean == (3.0 + 0.5) / 4
    with pytest.raises(AlreadyTold):
        evaluation.tell(1.0, ids=ids[0])
    with pytest.raises(ValueError, match="patience"):
        sv.PrivateEvaluations(RANGE, sv.NoPrivacy(), patience="soon")


def test_what_is_abandoned_is_erased_and_never_released_and_leaves_the_others_alone(two, storage):
    evaluations, elsewhere = two(seed=1)
    dropped, kept = evaluations.open(events=40), evaluations.open(events=40)
    for _ in range(8):
        one, person = evaluations.assign()
        one.tell(PLANTED, ids=person)
    waiting = dropped.assign()
    dropped.abandon()
    assert evaluations.open_evaluations == (kept,)
    for one in (dropped, elsewhere.evaluation(0)):
        assert "abandoned" in repr(one)
        assert (one.abandoned, one.closed, one.remaining, len(one.outstanding)) == (True, False, 0, 0)
        for refused, error in (
            (lambda one=one: one.mean, NotReleased),
            (lambda one=one: one.assign(), HorizonReached),
            (lambda one=one: one.tell(PLANTED), HorizonReached),
            (lambda one=one: one.tell(PLANTED, ids=waiting), RoundClosed),
            (lambda one=one: one.close(), ValueError),
        ):
            with pytest.raises(error) as caught:
                refused()
            assert "was abandoned" in str(caught.value) or error is RoundClosed
            assert not shows(caught.value, *TRACES)
        one.tell(0.5, ids=waiting, late="drop")
        one.abandon()
    if storage is not None:
        assert outside(storage, "SELECT DISTINCT stream FROM sottovoce_chunks") == [(kept.number,)]
    assert evaluations.assign().evaluation is kept
    kept.close()
    kept.abandon()  # too late: what is released stays
    assert (kept.closed, kept.abandoned, len(evaluations.results)) == (True, False, 1)


# ---------------------------------------------------------------------- refusals


def test_refused_calls_change_nothing_and_show_no_loss(evaluate, storage):
    evaluations = evaluate()
    one, other = evaluations.open(events=5), evaluations.open(events=5)
    mine, theirs = one.assign(size=3), other.assign()
    one.tell(0.5, ids=mine[0])
    for losses, ids, error in (
        (PLANTED, mine[0], AlreadyTold),
        ([PLANTED] * 2, mine[:2], AlreadyTold),
        ([PLANTED] * 2, [mine[1]] * 2, AlreadyTold),
        (PLANTED, theirs, UnknownAction),  # an id of another evaluation
        ([PLANTED] * 2, [mine[1], theirs], UnknownAction),
        *((PLANTED, wrong, UnknownAction) for wrong in (PLANTED, str(PLANTED), 2**70, -1, "1.4.0123456789ab")),
        ([PLANTED, np.nan], mine[1:], InvalidLoss),
        ([PLANTED, np.inf], None, InvalidLoss),
        *((items, None, InvalidLoss) for items in ([[PLANTED, 0.0]], [[PLANTED], [0.0]], {"latte": PLANTED})),
        *((items, mine[1], (InvalidLoss, ValueError)) for items in ([PLANTED] * 4, {"latte": PLANTED})),
        ([[PLANTED] * 2], mine[1:], ValueError),
        ([PLANTED] * 3, mine[1:], ValueError),
        (PLANTED, mine, ValueError),
        ([PLANTED] * 3, None, HorizonReached),
    ):
        with pytest.raises(error) as caught:
            one.tell(losses, ids=ids)
        assert not shows(caught.value, *TRACES), (losses, ids)
    for call, error in (
        (lambda: one.forget(theirs), UnknownAction),
        (lambda: one.tell(report=PLANTED), WrongReport),
        (lambda: one.tell(PLANTED, late="1876"[:3]), ValueError),
        (lambda: evaluations.tell(mine[1:], [[PLANTED] * 2]), ValueError),
        (lambda: one.assign(size=3), HorizonReached),
    ):
        with pytest.raises(error) as caught:
            call()
        assert not shows(caught.value, *TRACES)
    assert (one.assigned, sorted(one.outstanding)) == (3, sorted(mine[1:]))
    assert not [trace for trace in TRACES if trace in repr(one) + repr(evaluations) + repr(vars(one))]


def test_what_they_are_made_with_must_be_what_it_is_called():
    makers = {
        "events": lambda value: sv.PrivateEvaluations(RANGE, PURE).open(events=value),
        "privacy must be a guarantee": lambda value: sv.PrivateEvaluations(RANGE, value),
        "loss_range": lambda value: sv.PrivateEvaluations(value, PURE),
    }
    wrong = {"events": (0, -3, 2.5, True, 2**50), "privacy must be a guarantee": (1.0, sv.PureDP, None, "PureDP")}
    wrong["loss_range"] = ((1.0, 0.0), 3.0, (0.0, float("inf")), (0, 1, 2), (0.0, 1e200))
    for words, value in ((words, value) for words, values in wrong.items() for value in values):
        with pytest.raises((TypeError, ValueError), match=words):
            makers[words](value)


def test_what_was_passed_is_compared_with_what_is_stored(sqlite_url, opened, plain):
    opened(sqlite_url, **plain)
    for change, words in (
        ({"privacy": sv.PureDP(1.0)}, "privacy is NoPrivacy"),
        ({"loss_range": (0.0, 2.0)}, "loss_range is"),
        ({"patience": 7}, "patience is 'auto', not 7"),
        ({"seed": 4}, "seed is 3, not 4"),
        ({"noise": sv.SimulatedNoise(1)}, "noise is real"),
    ):
        with pytest.raises(ConfigurationMismatch, match=words):
            opened(sqlite_url, **change)
    for change in ({"privacy": 1.0}, {"loss_range": 3}, {"patience": "soon"}, {"variance": "yes"}):
        with pytest.raises((TypeError, ValueError), match=f"^{next(iter(change))} must be"):  # whatever is stored
            opened(sqlite_url, **change)
    opened(sqlite_url, **plain)
    with pytest.raises(StudyNotFound, match="to create them, pass loss_range, privacy"):
        opened(sqlite_url, name="others")


def test_a_name_is_either_of_a_study_or_of_evaluations(sqlite_url, opened, plain):
    opened(sqlite_url, **plain)
    making = {"domain": sv.domains.Simplex(3), "horizon": 100, "loss_range": (0.0, 1.0), "privacy": sv.NoPrivacy()}
    for call in (
        lambda: sv.Study.open(sqlite_url, name="trials"),
        lambda: sv.Study.open(sqlite_url, name="trials", **making),
        lambda: sv.studies.verify_stored(sqlite_url, "trials"),
        lambda: sv.studies.state_stored(sqlite_url, "trials"),
    ):
        with pytest.raises(ConfigurationMismatch, match="name='trials' is taken by evaluations"):
            call()
    sv.Study.open(sqlite_url, name="spring", **making).close()
    with pytest.raises(ConfigurationMismatch, match="name='spring' is taken by a study"):
        opened(sqlite_url, name="spring")
    with sv.studies.Catalogue(sqlite_url) as catalogue:
        for _ in range(2):
            assert [one.name for one in catalogue.entries()] == ["spring"]


# ---------------------------------------------------------------------- assigning


def test_every_block_of_people_meets_every_evaluation_once(evaluate):
    evaluations = evaluate(seed=4)
    opened = [evaluations.open(events=50) for _ in range(5)]
    met = [evaluations.assign().evaluation.number for _ in range(250)]
    blocks = np.array(met).reshape(50, 5)
    assert (np.sort(blocks, axis=1) == np.arange(5)).all()
    assert len({tuple(block) for block in blocks.tolist()}) > 30  # of 120 orders
    assert np.abs(np.array([np.flatnonzero(np.array(met) == one.number).mean() for one in opened]) - 124.5).max() < 2.1
    with pytest.raises(HorizonReached, match=r"no evaluation has a place left.*open one"):
        evaluations.assign()


def test_every_order_is_as_likely():
    """Chi-squared over the 6 orders of three; a false alarm has probability 1e-6 for a random seed, none for this."""
    evaluations = sv.PrivateEvaluations(RANGE, sv.NoPrivacy(), seed=11)
    for _ in range(3):
        evaluations.open(events=3000)
    met = np.array([evaluations.assign().evaluation.number for _ in range(9000)]).reshape(-1, 3)
    _, counts = np.unique(met, axis=0, return_counts=True)
    assert len(counts) == 6
    assert ((counts - 500) ** 2 / 500).sum() < 35.9


def test_one_that_is_full_is_left_out_and_one_that_is_new_joins_with_the_next_block(evaluate):
    evaluations = evaluate(seed=2)
    small, large = evaluations.open(events=1), evaluations.open(events=9)
    first = evaluations.assign().evaluation
    late = evaluations.open(events=9)
    assert {first, evaluations.assign().evaluation} == {small, large}
    assert {evaluations.assign().evaluation for _ in range(2)} == {large, late}
    assert evaluations.open_evaluations == (small, large, late)


# ---------------------------------------------------------------------- guarantees, ledgers, copies


def test_a_ledger_is_charged_once_for_all_evaluations(evaluate, storage, opened, tmp_path):
    ledger = sv.Ledger(sv.PureDP(1.5), path=tmp_path / "ledger.db")
    evaluations = evaluate(privacy=PURE, ledger=ledger)
    for _ in range(3):
        evaluations.open(events=2).tell([0.0, 1.0])
    if storage is not None:
        opened(storage, ledger=ledger).open(events=3).tell([0.5] * 3)
    assert (ledger.spent, len(ledger.entries)) == (1.0, 1)
    with pytest.raises(LedgerExceeded):
        sv.PrivateEvaluations(RANGE, PURE, ledger=ledger)


@every("privacy", [PURE, sv.ApproxDP(2.0, 1e-6), sv.ZCDP(0.5), sv.LocalDP(2.0)])
def test_all_guarantees_give_a_mean_that_holds(evaluate, storage, privacy):
    """False alarms have a probability of 1e-7. Owners send reports, and nothing else."""
    evaluations = evaluate(privacy=privacy, seed=1, name=f"{privacy}")
    one, losses = evaluations.open(events=4000), np.full(4000, 0.25)
    if evaluations.channel is None:
        one.tell(losses)
    else:
        with pytest.raises(WrongReport, match="raw loss"):
            one.tell(0.25)
        with pytest.raises(InvalidLoss, match="channel"):
            one.tell(report=0.25)
        one.tell(report=sv.local.privatise(losses, evaluations.channel))
    low, high = one.interval(1 - 1e-7)
    assert low < 0.25 < high
    assert (one.result.noise_error > 0) == (evaluations.channel is None)
    assert ("database" in str(evaluations.privacy)) == (storage is not None)
    json.dumps(evaluations.export())


def test_they_are_neither_copied_nor_taken_through_a_fork(evaluate):
    evaluations = evaluate(privacy=PURE)
    one = evaluations.open(events=2)
    for copying in (copy.copy, copy.deepcopy, pickle.dumps, lambda _: pickle.dumps(one)):
        with pytest.raises(CopyRefused):
            copying(evaluations)
    one.tell(0.5)
    assert is_refused_after_a_fork(lambda: one.tell(0.5))
    one.tell(0.5)
    assert one.closed


def test_simulated_evaluations_copy_with_all_they_know():
    evaluations = sv.PrivateEvaluations(RANGE, PURE, noise=sv.SimulatedNoise(3), seed=3)
    one = evaluations.open(events=3)
    one.tell(0.25)
    for twin in (copy.copy(evaluations), pickle.loads(pickle.dumps(evaluations))):
        (other,) = twin.open_evaluations
        other.tell([0.5, 0.5])
        assert other.closed
        assert not one.closed
        assert twin.results[0].number == one.number


def test_the_statement_says_what_is_spent():
    statement = sv.PrivateEvaluations(RANGE, sv.PureDP(0.5, contributions=3)).privacy
    assert statement.private
    assert "epsilon = 3 events x 262144 / 1,572,864 = 0.5" in statement.why
    two = " ".join(str(sv.PrivateEvaluations(RANGE, PURE, noise=sv.SimulatedNoise(3), variance=True).privacy).split())
    assert "NOT PRIVATE" in two
    assert "two numbers that are released of it, sum and squares" in two
    assert not sv.PrivateEvaluations(RANGE, sv.NoPrivacy()).privacy.private
