"""What is told is counted once, where it belongs; nothing private decides when an evaluation closes."""

import copy
import os
import pickle
import threading
import traceback
import uuid

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sampling import every
from sottovoce.errors import (
    AlreadyTold,
    CopyRefused,
    ForkRefused,
    HorizonReached,
    InvalidLoss,
    LedgerExceeded,
    NotReleased,
    RoundClosed,
    UnknownAction,
    WrongReport,
)

RANGE, PURE = (0.0, 1.0), sv.PureDP(epsilon=1.0)


def in_memory(**options):
    """Evaluations without noise, so that what is released can be counted."""
    return sv.PrivateEvaluations(RANGE, sv.NoPrivacy(), **options)


def test_what_is_abandoned_takes_nobody_tells_nothing_and_leaves_the_others_alone(evaluate):
    evaluations = evaluate(seed=1)
    dropped, kept = evaluations.open(4), evaluations.open(2)
    ids = dropped.assign(size=2)
    dropped.tell(0.73, ids=ids[0])
    dropped.abandon()
    dropped.abandon()
    assert evaluations.open_evaluations == (kept,)
    assert [evaluations.assign().evaluation for _ in range(2)] == [kept, kept]
    for refused, error in [
        (lambda: dropped.mean, NotReleased),
        (lambda: dropped.assign(), HorizonReached),
        (lambda: dropped.tell(0.73), HorizonReached),
        (lambda: dropped.tell(0.73, ids=ids[1]), RoundClosed),
        (lambda: dropped.close(), ValueError),
        (lambda: evaluations.assign(), HorizonReached),
    ]:
        with pytest.raises(error) as caught:
            refused()
        assert "0.73" not in str(caught.value)
    assert "abandoned" in repr(dropped)
    assert (dropped.closed, dropped.remaining, len(dropped.outstanding), len(evaluations.results)) == (False, 0, 0, 0)
    kept.tell([0.25, 0.5], ids=kept.outstanding)
    kept.abandon()  # too late: what is released stays
    assert kept.closed
    assert not kept.abandoned
    assert kept.mean == pytest.approx(0.375)


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
                waiting += [
                    (one, person) for person in one.assign(size=data.draw(st.integers(1, one.remaining))).tolist()
                ]
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


def test_reading_before_it_is_closed_is_an_error_that_says_what_is_missing(evaluate):
    one = evaluate(privacy=PURE, noise=sv.SimulatedNoise(3)).open(events=10)
    ids = one.assign(size=7)
    one.tell(np.full(5, 0.1), ids=ids[:5])
    for read in (lambda: one.mean, lambda: one.standard_error, one.interval, lambda: one.result):
        with pytest.raises(
            NotReleased, match=rf"3 of its 10 places are not taken; 2 that are taken .*ids {ids[5]}, {ids[6]}\)"
        ) as found:
            read()
        assert "0.1" not in str(found.value)


def test_the_mean_is_the_same_whenever_it_is_read(evaluate):
    one = evaluate(privacy=PURE).open(events=3)
    one.tell([0.1, 0.2, 0.3])
    assert len({one.mean for _ in range(20)}) == 1
    assert one.result is one.result


def test_closing_early_counts_those_who_were_assigned(evaluate):
    evaluations = evaluate()
    one = evaluations.open(events=10)
    one.tell([1.0, 1.0])
    one.assign()
    one.close()
    assert one.result.events == 3
    assert one.mean == pytest.approx(2.5 / 3)  # a missing loss is the middle of the range
    one.close()
    assert (one.remaining, one.closed, len(one.outstanding)) == (0, True, 0)
    with pytest.raises(HorizonReached, match="is closed"):
        one.tell(0.5)
    with pytest.raises(ValueError, match="nobody was assigned"):
        evaluations.open(events=10).close()


@pytest.mark.parametrize("late", ["error", "drop"])
def test_patience_is_counted_in_later_people(evaluate, late):
    evaluations = evaluate(patience=4)
    first, second = evaluations.open(events=2), evaluations.open(events=9)
    ids = first.assign(size=2)
    first.tell(1.0, ids=ids[0])
    second.tell([0.0, 0.0])
    second.assign()
    second.assign()
    assert not first.closed  # four came after it, and only the next call looks
    second.assign()
    assert first.mean == pytest.approx(0.75)
    if late == "error":
        with pytest.raises(RoundClosed):
            first.tell(0.3, ids=ids[1])
    else:
        first.tell(0.3, ids=ids[1], late="drop")
    assert first.mean == pytest.approx(0.75)
    with pytest.raises(ValueError, match="patience"):
        in_memory(patience="soon")


def test_when_one_closes_does_not_depend_on_losses(evaluate):
    def closings(losses):
        evaluations, seen = evaluate(name=uuid.uuid4().hex, seed=1, patience=2), []
        opened = [evaluations.open(events=3), evaluations.open(events=4)]
        for count, loss in enumerate(losses):
            met, person = evaluations.assign()
            if count % 3:
                met.tell(loss, ids=person)
            seen.append(tuple(one.closed for one in opened))
        return seen

    assert closings([0.0] * 7) == closings([1e9, -1e9, 0.5, 1.0, 0.0, 7.0, -3.0])


def test_refused_calls_change_nothing_and_show_no_loss(evaluate):
    evaluations = evaluate()
    one, other = evaluations.open(events=5), evaluations.open(events=5)
    mine, theirs = one.assign(size=2), other.assign()
    one.tell(0.625, ids=mine[0])
    for call, error in (
        (lambda: one.tell(0.625, ids=mine[0]), AlreadyTold),
        (lambda: one.tell([0.625, 0.625], ids=[mine[1]] * 2), AlreadyTold),
        (lambda: one.tell(0.625, ids=theirs), UnknownAction),  # an id of another evaluation
        (lambda: one.tell(0.625, ids=0.625), UnknownAction),
        (lambda: one.tell(0.625, ids=2**70), UnknownAction),
        (lambda: one.tell(0.625, ids=-1), UnknownAction),
        (lambda: one.forget(theirs), UnknownAction),
        (lambda: one.tell([0.625, float("nan")]), InvalidLoss),
        (lambda: one.tell("0.625 of it"), InvalidLoss),
        (lambda: one.tell(0.625, ids=mine), ValueError),
        (lambda: one.tell([0.625] * 4), HorizonReached),
        (lambda: one.tell(report=0.625), WrongReport),
        (lambda: one.tell(0.625, late="0.6"), ValueError),
        (lambda: one.assign(size=4), HorizonReached),
    ):
        with pytest.raises(error) as found:
            call()
        shown = "".join(traceback.format_exception(found.value)).split("Error", 1)[-1]
        assert "0.625" not in str(found.value).replace("float64", "")
        assert found.value.__context__ is None or "0.625" not in str(found.value.__context__)
        assert shown
        assert (one.assigned, list(one.outstanding)) == (2, [mine[1]])
    assert "0.625" not in repr(one) + repr(evaluations) + repr(vars(one))


@every("events", [0, -3, 2.5, True, 2**50])
def test_events_must_be_countable(events):
    with pytest.raises((TypeError, ValueError), match="events"):
        in_memory().open(events=events)


@every("privacy", [1.0, sv.PureDP, None, "PureDP"])
def test_privacy_must_be_a_guarantee(privacy):
    with pytest.raises(TypeError, match="privacy must be a guarantee"):
        sv.PrivateEvaluations(RANGE, privacy)


@every("loss_range", [(1.0, 0.0), 3.0, (0.0, float("inf")), (0, 1, 2), (0.0, 1e200)])
def test_a_range_must_be_one(loss_range):
    with pytest.raises((TypeError, ValueError), match="loss_range"):
        sv.PrivateEvaluations(loss_range, PURE)


# ---------------------------------------------------------------------- assigning


def test_every_block_of_people_meets_every_evaluation_once(evaluate):
    evaluations = evaluate(seed=4)
    opened = [evaluations.open(events=50) for _ in range(5)]
    met = [evaluations.assign().evaluation.number for _ in range(250)]
    blocks = np.array(met).reshape(50, 5)
    assert (np.sort(blocks, axis=1) == np.arange(5)).all()
    assert len({tuple(block) for block in blocks.tolist()}) > 30  # of 120 orders
    assert np.abs(np.array([np.flatnonzero(np.array(met) == one.number).mean() for one in opened]) - 124.5).max() < 2.1
    with pytest.raises(HorizonReached, match="open one"):
        evaluations.assign()


def test_every_order_is_as_likely():
    """Chi-squared over the 6 orders of three; a false alarm has probability 1e-6 for a random seed, none for this."""
    evaluations = in_memory(seed=11)
    for _ in range(3):
        evaluations.open(events=3000)
    met = np.array([evaluations.assign().evaluation.number for _ in range(9000)]).reshape(-1, 3)
    _, counts = np.unique(met, axis=0, return_counts=True)
    assert len(counts) == 6
    assert ((counts - 500) ** 2 / 500).sum() < 35.9


def test_assignment_follows_from_the_seed_and_not_from_losses(evaluate):
    def met(seed, loss):
        evaluations = evaluate(name=uuid.uuid4().hex, seed=seed)
        for _ in range(3):
            evaluations.open(events=20)
        found = []
        for _ in range(60):
            evaluation, person = evaluations.assign()
            evaluation.tell(loss, ids=person)
            found.append(evaluation.number)
        return found

    assert met(7, 0.0) == met(7, 1.0) != met(8, 0.0)


def test_one_that_is_full_is_left_out_and_one_that_is_new_joins_with_the_next_block(evaluate):
    evaluations = evaluate(seed=2)
    small, large = evaluations.open(events=1), evaluations.open(events=9)
    first = evaluations.assign().evaluation
    late = evaluations.open(events=9)
    assert {first, evaluations.assign().evaluation} == {small, large}
    assert {evaluations.assign().evaluation for _ in range(2)} == {large, late}
    assert evaluations.open_evaluations == (small, large, late)


def test_ids_are_handed_out_once_from_many_threads(evaluate):
    evaluations = evaluate(seed=2)
    opened = [evaluations.open(events=60) for _ in range(3)]
    found = []

    def work():
        for _ in range(30):
            evaluation, person = evaluations.assign()
            loss = float(hash(person) % 2)
            evaluation.tell(loss, ids=person)
            found.append((evaluation.number, person, loss))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({person for _, person, _ in found}) == 60 * len(opened)
    for one in opened:
        assert one.mean == pytest.approx(np.mean([loss for number, _, loss in found if number == one.number]))


# ---------------------------------------------------------------------- guarantees, ledgers, copies


def test_a_ledger_is_charged_once_for_all_evaluations(tmp_path):
    ledger = sv.Ledger(sv.PureDP(1.5), path=tmp_path / "ledger.db")
    evaluations = sv.PrivateEvaluations(RANGE, PURE, ledger=ledger, name="prices")
    assert not ledger.entries[0].used
    for _ in range(5):
        evaluations.open(events=2).tell([0.0, 1.0])
    assert (ledger.spent, len(ledger.entries), ledger.entries[0].used) == (1.0, 1, True)
    with pytest.raises(LedgerExceeded):
        sv.PrivateEvaluations(RANGE, PURE, ledger=ledger)


@pytest.mark.parametrize("channel", ["one-bit", "laplace"])
def test_owners_send_reports_and_nothing_else(evaluate, channel):
    evaluations = evaluate(privacy=sv.LocalDP(2.0), seed=1, channel=channel)
    one = evaluations.open(events=4000)
    with pytest.raises(WrongReport, match="raw loss"):
        one.tell(0.25)
    with pytest.raises(InvalidLoss, match="channel"):
        one.tell(report=0.25)
    one.tell(report=sv.local.privatise(np.full(4000, 0.25), evaluations.channel))
    low, high = one.interval(1 - 1e-7)  # the probability of a false alarm
    assert low < 0.25 < high
    assert one.result.noise_error == 0


def test_real_noise_is_neither_copied_nor_pickled():
    evaluations = sv.PrivateEvaluations(RANGE, PURE)
    one = evaluations.open(events=2)
    for thing in (evaluations, one):
        for copying in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(CopyRefused):
                copying(thing)


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


def test_a_forked_child_is_refused():
    evaluations = sv.PrivateEvaluations(RANGE, PURE)
    one = evaluations.open(events=2)
    one.tell(0.5)
    child = os.fork()
    if not child:
        try:
            one.tell(0.5)
        except ForkRefused:
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    one.tell(0.5)
    assert one.closed


def test_the_statement_says_what_is_spent():
    statement = sv.PrivateEvaluations(RANGE, sv.PureDP(0.5, contributions=3)).privacy
    assert statement.private
    assert "epsilon = 3 events x 262144 / 1.57286e+06 = 0.5" in statement.why
    assert "NOT PRIVATE" in str(sv.PrivateEvaluations(RANGE, PURE, noise=sv.SimulatedNoise(3)).privacy)
    assert not in_memory().privacy.private
