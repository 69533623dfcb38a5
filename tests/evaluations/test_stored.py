"""Stored evaluations do what those in memory do, on both kinds of storage, and survive."""

import json

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import (
    AlreadyTold,
    ConfigurationMismatch,
    CopyRefused,
    HorizonReached,
    InvalidLoss,
    NotReleased,
    RoundClosed,
    StudyNotFound,
    UnknownAction,
    WrongReport,
)


def test_the_same_calls_release_the_same_sums_wherever_they_are(evaluate, plain):
    losses = np.random.default_rng(1).random(40)
    found = []
    for evaluations in (sv.PrivateEvaluations(**plain, patience=None), evaluate(**plain, patience=None)):
        a, b = evaluations.open(events=20), evaluations.open(events=20)
        waiting = [evaluations.assign() for _ in range(10)]
        a.tell(losses[:5])
        b.tell(losses[5])
        ids = b.assign(size=4)
        b.tell(losses[6:9], ids=ids[1:])
        assert b.forget(ids) == 1
        for number, (one, person) in enumerate(waiting):
            one.tell(losses[10 + number], ids=person)
        a.close()
        b.close()
        found.append([(one.number, one.events, one.total) for one in evaluations.results])
        assert [one.closed for one in (a, b)] == [True, True]
    assert found[0] == found[1]


def test_who_meets_what_is_the_same_wherever_they_are_and_even(evaluate, plain):
    met = []
    for evaluations in (sv.PrivateEvaluations(**plain), evaluate(**plain)):
        opened = [evaluations.open(events=30) for _ in range(3)]
        met.append([opened.index(evaluations.assign().evaluation) for _ in range(45)])
        met[-1] += [opened.index(one) for one, _ in evaluations.assign(size=45)]
        with pytest.raises(HorizonReached, match="no evaluation has a place left"):
            evaluations.assign()
    assert met[0] == met[1]
    assert all(sorted(met[0][start : start + 3]) == [0, 1, 2] for start in range(0, 90, 3))


def test_ids_are_told_and_forgotten_without_their_evaluations(evaluate):
    evaluations = evaluate(seed=1, repeat="ignore")
    a, b = evaluations.open(events=3), evaluations.open(events=3)
    people = evaluations.assign(size=6)
    ids = [person for _, person in people]
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


def test_what_was_told_survives_and_any_process_goes_on(url, opened, plain, execute):
    first = opened(url, **plain)
    evaluation = first.open(events=4)
    person = evaluation.assign()
    evaluation.tell([0.25, 0.5])
    first.close()
    again = opened(url)
    assert [one.number for one in again.open_evaluations] == [0]
    assert (again.seed, again.loss_range, again.created) == (3, (0.0, 1.0), False)
    evaluation = again.evaluation(0)
    assert (evaluation.events, evaluation.assigned, evaluation.remaining) == (4, 3, 1)
    assert evaluation.outstanding.tolist() == [person]
    with pytest.raises(NotReleased, match=f"1 of its 4 places are not taken; 1 that are taken .*{person}"):
        _ = evaluation.mean
    evaluation.tell(0.75, ids=person)
    evaluation.tell(0.5)
    assert evaluation.mean == 0.5
    assert opened(url).evaluation(0).mean == 0.5
    assert again.results == opened(url).results
    assert execute(url, "SELECT 1 FROM sottovoce_chunks") == []


def test_each_id_counts_once_and_a_call_is_all_or_nothing(sqlite_url, opened, plain):
    evaluations = opened(sqlite_url, **plain)
    evaluation, other = evaluations.open(events=5), evaluations.open(events=5)
    ids = evaluation.assign(size=3)
    evaluation.tell(0.5, ids=ids[0])
    for losses, these, refusal in (
        ([0.5, 0.5], ids[:2], AlreadyTold),
        ([0.5, np.nan], ids[1:], InvalidLoss),
        ([0.5, 0.5], [ids[1], ids[1]], AlreadyTold),
        ([0.5, 0.5], [ids[1], other.assign()], UnknownAction),
        ([0.5, 0.5], [ids[1], "1.4.0123456789ab"], UnknownAction),
        ([0.5, 0.5, 0.5], ids[1:], ValueError),
        ([0.5, "x"], ids[1:], InvalidLoss),
        ([0.5] * 3, None, HorizonReached),
        ([0.5, np.inf], None, InvalidLoss),
    ):
        with pytest.raises(refusal):
            evaluation.tell(losses, ids=these)
    assert sorted(evaluation.outstanding) == sorted(ids[1:])
    assert evaluation.remaining == 2
    repeating = opened(sqlite_url, repeat="ignore").evaluation(0)
    repeating.tell([1.0, 0.25], ids=ids[:2])  # the first has its loss: that counts
    evaluation.tell(0.0, ids=ids[2])
    evaluation.tell([0.0, 0.0])
    assert evaluation.result.total * evaluation.result.scale.step == pytest.approx(0.75)


def test_patience_counts_people_of_all_processes(sqlite_url, opened, plain):
    evaluations, elsewhere = opened(sqlite_url, **plain, patience=6), opened(sqlite_url)
    evaluation = evaluations.open(events=4)
    ids = evaluation.assign(size=4)
    evaluation.tell([1.0] * 3, ids=ids[:3])
    later = elsewhere.open(events=100)
    later.assign(size=3)
    later.tell([0.0] * 3)
    assert not evaluation.closed
    later.assign()  # it is closed before this one, the seventh
    assert evaluation.closed
    assert evaluation.mean == (3.0 + 0.5) / 4
    with pytest.raises(RoundClosed, match="was closed without its loss"):
        evaluation.tell(1.0, ids=ids[3])
    evaluation.tell(1.0, ids=ids[3], late="drop")
    with pytest.raises(AlreadyTold):
        evaluation.tell(1.0, ids=ids[0])


def test_an_evaluation_is_ended_with_those_who_were_assigned(url, opened, plain, eager):
    evaluations, elsewhere = opened(url, **plain), opened(url)
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
    assert (evaluation.result.events, evaluation.mean) == (13, 10.5 / 13)
    assert elsewhere.evaluation(0).mean == evaluation.mean
    with pytest.raises(HorizonReached, match="is closed"):
        elsewhere.evaluation(0).tell(1.0)
    with pytest.raises(RoundClosed):
        evaluation.tell(0.5, ids=waiting)
    assert evaluations.assign().evaluation is other


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
        assert [one.name for one in catalogue.entries()] == ["spring"]
        assert [one.name for one in catalogue.entries()] == ["spring"]


@pytest.mark.parametrize("privacy", [sv.PureDP(2.0), sv.ApproxDP(2.0, 1e-6), sv.ZCDP(0.5), sv.LocalDP(2.0)])
def test_all_guarantees(privacy, sqlite_url, opened):
    evaluations = opened(sqlite_url, loss_range=(0.0, 1.0), privacy=privacy)
    evaluation = evaluations.open(events=2000)
    losses = np.full(2000, 0.25)
    if isinstance(privacy, sv.LocalDP):
        with pytest.raises(WrongReport):
            evaluation.tell(losses)
        evaluation.tell(report=[sv.local.privatise(one, evaluations.channel) for one in losses])
    else:
        evaluation.tell(losses)
    assert abs(evaluation.mean - 0.25) < 6 * max(evaluation.standard_error, 1e-3)
    assert (evaluation.result.noise_error > 0) == (not isinstance(privacy, sv.LocalDP))
    assert "database" in str(evaluations.privacy)
    json.dumps(evaluations.export())


def test_a_ledger_is_charged_once(sqlite_url, opened, tmp_path):
    ledger = sv.Ledger(sv.PureDP(1.0), tmp_path / "ledger.db")
    making = {"loss_range": (0.0, 1.0), "privacy": sv.PureDP(1.0)}
    opened(sqlite_url, **making, ledger=ledger)
    assert len(ledger.entries) == 1
    opened(sqlite_url, ledger=ledger).open(events=3).tell([0.5] * 3)
    opened(sqlite_url, ledger=ledger).open(events=3).tell([0.5] * 3)
    assert [(one.used, one.guarantee) for one in ledger.entries] == [(True, sv.PureDP(1.0))]


def test_they_are_not_copied(sqlite_url, opened, plain):
    import copy
    import pickle

    evaluations = opened(sqlite_url, **plain)
    for one in (evaluations, evaluations.open(events=3)):
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(CopyRefused):
                copied(one)


def test_what_is_abandoned_is_erased_and_never_released(url, opened, plain, eager, execute):
    evaluations, elsewhere = opened(url, **plain), opened(url)
    evaluation, other = evaluations.open(events=40), evaluations.open(events=40)
    for _ in range(8):
        one, person = evaluations.assign()
        one.tell(0.5, ids=person)
    waiting = evaluation.assign()
    evaluation.abandon()
    for one in (evaluation, elsewhere.evaluation(0)):
        assert (one.abandoned, one.closed, one.remaining) == (True, False, 0)
        with pytest.raises(NotReleased, match="was abandoned"):
            _ = one.mean
        with pytest.raises(HorizonReached, match="was abandoned"):
            one.tell(0.5)
        with pytest.raises(RoundClosed):
            one.tell(0.5, ids=waiting)
        one.tell(0.5, ids=waiting, late="drop")
        with pytest.raises(ValueError, match="was abandoned"):
            one.close()
        one.abandon()
    assert execute(url, "SELECT DISTINCT stream FROM sottovoce_chunks") == [(other.number,)]
    assert evaluations.assign().evaluation is other
    other.close()
    other.abandon()
    assert other.closed


def test_what_a_process_had_in_hand_goes_to_the_next(url, opened, plain, eager, execute):
    evaluations = opened(url, **plain)
    evaluations.open(events=60), evaluations.open(events=60)
    for _ in range(16):
        one, person = evaluations.assign()
        one.tell(0.25, ids=person)
    assert execute(url, "SELECT clock FROM sottovoce_books")[0][0] > 16  # some were reserved ahead
    evaluations.close()
    again = opened(url)
    assert [len(one.outstanding) for one in again.open_evaluations] == [0, 0]
    assert sum(one.assigned for one in again.open_evaluations) == 16
    for _ in range(104):
        one, person = again.assign()
        one.tell(0.25, ids=person)
    assert [(one.events, one.mean) for one in again.results] == [(60, 0.25), (60, 0.25)]
    assert execute(url, "SELECT clock FROM sottovoce_books") == [(120,)]


def test_what_is_in_hand_here_can_be_taken_here(url, opened, plain, eager, execute):
    evaluations = opened(url, **plain)
    evaluation = evaluations.open(events=100)
    for _ in range(20):
        one, person = evaluations.assign()
        one.tell(0.0, ids=person)
    assert execute(url, "SELECT clock FROM sottovoce_books")[0][0] > 20
    evaluation.tell([0.0] * 60)
    with pytest.raises(HorizonReached, match="has 20 of 100 places left, and 21 more were wanted"):
        evaluation.tell([0.0] * 21)
    last = evaluation.assign(size=20)
    assert evaluation.remaining == 0
    with pytest.raises(HorizonReached):
        evaluations.assign()
    evaluation.tell([1.0] * 20, ids=last)
    assert execute(url, "SELECT open FROM sottovoce_rounds") == [(0,)]  # at once: nobody has looked yet
    assert (evaluation.result.events, evaluation.mean) == (100, 0.2)


def test_damage_is_noticed(sqlite_url, opened, plain, execute):
    evaluations = opened(sqlite_url, **plain)
    evaluation = evaluations.open(events=3)
    evaluation.tell([0.5, 0.5])
    execute(sqlite_url, "UPDATE sottovoce_chunks SET slots = CAST(zeroblob(8) || substr(slots, 9) AS BLOB)")
    with pytest.raises(sv.errors.StudyDamaged, match="fail their checksum"):
        evaluation.tell(0.5)
    execute(sqlite_url, "UPDATE sottovoce_books SET clock = 7")
    with pytest.raises(sv.errors.StudyDamaged, match="checksum"):
        opened(sqlite_url)


def test_printing_shows_no_loss_and_works_after_the_end(sqlite_url, opened, plain):
    evaluations = opened(sqlite_url, **plain)
    evaluation = evaluations.open(events=3)
    evaluation.tell(0.125)
    assert repr(evaluation) == "Evaluation(0, events=3, assigned=1, open)"
    assert repr(evaluations).startswith("PrivateEvaluations('trials' at '")
    evaluations.close()
    assert repr(evaluation) == "Evaluation(0, events=3, assigned=1, open)"
    with pytest.raises(sv.errors.StorageError, match="is closed"):
        evaluation.tell(0.5)


def test_squares_are_released_wherever_evaluations_are(evaluate):
    evaluations = evaluate(variance=True)
    one = evaluations.open(events=8)
    one.tell([0.25, 0.75] * 3)
    one.assign()
    one.close()
    assert one.result.events == 7
    assert one.result.squares == 6 * 2**18 // 16
