"""People who are counted: over all evaluations together, nobody gives more losses than was promised."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.errors import StateRefused

MOST = 2
FREE = sv.NoPrivacy(contributions=MOST)
BEYOND = 1.0  # what people tell whose losses are not wanted


class Played:
    """Asks for people in each of the ways there are, and compares what counts with a plain count."""

    def __init__(self):
        self.losses = Counter()

    def call(self, evaluations, kind, people):
        """Assign people and tell their losses: 0 of those that are wanted, if nobody is counted wrongly."""
        opened = [one for one in evaluations.open_evaluations if one.remaining >= len(people)]
        if not opened:
            opened = [evaluations.open(events=40) for _ in range(2)]
        wanted = +Counter({one: min(count, MOST - self.losses[one]) for one, count in Counter(people).items()})
        self.losses += wanted
        if kind == "coins":
            met = evaluations.assign(len(people), person=people)
            assert sum(one.wants_loss for one in met) == wanted.total()
            losses = [0.0 if one.wants_loss else BEYOND for one in met]
            assert evaluations.tell([one.id for one in met], losses)[::2] == (
                wanted.total(),
                len(people) - wanted.total(),
            )
            return
        one = opened[0]
        seen, losses = Counter(), []
        for person in people:  # all slots are of one evaluation, so the first of a person's are those that count
            losses.append(0.0 if seen[person] < wanted[person] else BEYOND)
            seen[person] += 1
        if kind == "here":
            ids = one.assign(len(people), person=people)
            one.tell(losses, ids=ids)
        else:
            one.tell(losses, person=people)


CALLS = st.lists(
    st.tuples(
        st.sampled_from(["coins", "here", "next"]), st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=12)
    ),
    max_size=10,
)


def totals(evaluations):
    """What was released: how many losses were counted, and their sum."""
    for one in evaluations.open_evaluations:
        one.close() if one.assigned else one.abandon()
    return [(one.events, one.total) for one in evaluations.results]


@given(calls=CALLS)
def test_each_person_gives_as_many_losses_as_were_promised_in_whichever_evaluations(calls):
    played, evaluations = Played(), sv.PrivateEvaluations((0.0, 1.0), FREE, seed=1)
    for kind, people in calls:
        played.call(evaluations, kind, people)
    found = totals(evaluations)
    assert sum(events for events, _ in found) == played.losses.total()
    assert not any(total for _, total in found)


def test_a_call_that_is_cut_short_leaves_its_places_to_nobody(evaluate, monkeypatch):
    """Or somebody would tell a loss in the place, and by the count, of another."""
    evaluations = evaluate(privacy=FREE, patience=None)
    one, other = evaluations.open(events=10), evaluations.open(events=10)

    def cut(pieces):
        raise KeyboardInterrupt

    calls = [
        lambda: evaluations.assign(person="two"),
        lambda: one.assign(person="two"),
        lambda: other.tell(0.5, person="three"),
    ]
    for call in calls:
        with monkeypatch.context() as patched:
            patched.setattr(evaluations._store, "hand_out", cut)
            with pytest.raises(KeyboardInterrupt):
                call()
        evaluations.assign(person="four")  # closes them
    seen = [evaluations.assign(person="one").wants_loss for _ in range(MOST + 1)]
    assert seen == [True] * MOST + [False]
    assert not evaluations.assign(person="two").wants_loss  # counted twice, though nobody got it
    assert [evaluations.assign(person="three").wants_loss for _ in range(2)] == [True, False]
    waiting = [len(evaluation.outstanding) for evaluation in (one, other)]
    assert sum(waiting) == MOST + 1 + MOST  # nobody waits for what was cut short


def test_all_people_are_counted_or_none(evaluate):
    evaluations = evaluate(privacy=FREE)
    one = evaluations.open(events=10)
    one.assign(person="one")
    for call in (evaluations.assign, lambda: evaluations.assign(2), one.assign, lambda: one.tell(0.5)):
        with pytest.raises(TypeError, match="person is missing"):
            call()
    assert one.assigned == 1
    begun = sv.PrivateEvaluations((0.0, 1.0), FREE)
    begun.open(events=3).assign()
    with pytest.raises(StateRefused, match="without it"):
        begun.assign(person="one")
    for wrong in (7.25, ["7.25"] * 3, {"7.25": 1}):
        with pytest.raises((TypeError, ValueError), match="person must be a") as refused:
            one.assign(2, person=wrong)
        assert "7.25" not in str(refused.value)
    with pytest.raises(TypeError, match="person= is for people who were not assigned"):
        one.tell(0.5, ids=1, person="one")


def test_an_evaluation_in_which_no_loss_was_wanted_has_no_mean(evaluate):
    evaluations = evaluate(privacy=FREE)
    first, second = evaluations.open(events=MOST), evaluations.open(events=2)
    first.tell([0.25] * MOST, person=["one"] * MOST)
    second.tell([0.75] * 2, person=["one"] * 2)
    assert (first.mean, first.assigned) == (0.25, MOST)
    assert (second.closed, second.abandoned, second.assigned, second.remaining) == (False, True, 2, 0)
    assert len(evaluations.results) == 1
