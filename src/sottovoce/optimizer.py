"""Ask and tell over rounds in a store: what `PrivateBandit` and `Study` have in common."""

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any, overload

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._checks import choice, number, whole
from sottovoce._losses import as_array, as_rows, losses_or_reports
from sottovoce.domains import Domain
from sottovoce.errors import InvalidLoss
from sottovoce.learning.actions import Action, Actions, Piece, as_ids, refuse_actions
from sottovoce.learning.configuration import BanditConfiguration
from sottovoce.learning.describe import describe
from sottovoce.learning.item_losses import in_items, with_zeros
from sottovoce.learning.outstanding import Outstanding, WaitingRound, outstanding_of
from sottovoce.learning.patience import patience_for
from sottovoce.learning.policy import BanditPolicy
from sottovoce.learning.pooled_policy import policy_for
from sottovoce.learning.recommendation import Recommendation, believed
from sottovoce.learning.seen_world import SeenWorld, seen_in
from sottovoce.learning.segment_requests import are_several, segments_of_block, several
from sottovoce.learning.set_changes import SetChange
from sottovoce.learning.stopping import MayStop
from sottovoce.models import FitCheck, Posterior, Segment, Segments
from sottovoce.plans.decisions import joined
from sottovoce.plans.forecast import Forecast
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem
from sottovoce.privacy import LocalDP, NoiseSource, PrivacyStatement
from sottovoce.rounds.book import Book, HandedOut, computing, locked
from sottovoce.rounds.people import people_for, people_of
from sottovoce.rounds.round import Shape
from sottovoce.rounds.store import WAITING, OpenRound, Store


class Optimizer(MayStop, Book):
    """Decisions over rounds in a store, drawn by a plan from what was released.

    Parameters
    ----------
    configuration
        What it is made with.
    source
        Of noise.
    seed
        Of the public coins, if one was passed.
    entropy
        What the public coins follow from.
    store
        Makes the store of a shape: where open rounds live.
    """

    _policy: BanditPolicy
    repeat = "error"
    """What a second loss for one action does."""

    def __init__(
        self,
        configuration: BanditConfiguration,
        source: NoiseSource,
        seed: int | None,
        entropy: int,
        store: Callable[[Shape], Store],
    ) -> None:
        self._configuration, self._source, self.seed = configuration, source, seed
        policy = policy_for(configuration, configuration.problem(), source, entropy)
        policy.refresh, policy.read_changes = self._refresh, self._read_changes
        self._local = isinstance(configuration.privacy, LocalDP)
        self._most_losses = configuration.privacy.contributions
        self._itemised = configuration.feedback == "items"
        self._attentive = self._local or self._itemised
        super().__init__(store(policy.shape), policy, horizon=policy.horizon)
        self._alone = configuration.segments is None and not self._store.shared
        self._plain = not self._attentive and not self._store.shared  # whether a loss is a number, and so is its id
        for name in policy.first_streams:
            self._store.stream(name)
        self._refresh()

    # ------------------------------------------------------------------ asking

    @overload
    def ask(self, size: None = None, *, segment: Any = None, person: str | None = None) -> Action: ...

    @overload
    def ask(self, size: int, *, segment: Any = None, person: Sequence[str] | None = None) -> Actions: ...

    def ask(
        self, size: int | None = None, *, segment: Any = None, person: str | Sequence[str] | None = None
    ) -> Action | Actions:
        """Return the next action, or a block of `size` of them.

        Never blocks: while losses are outstanding, later rounds play the newest point there is.

        Parameters
        ----------
        size
            How many actions; None for a single `Action`, or as many as there are segments in a list.
        segment
            Whom it is for, of an optimizer with `segments`; for a block, one segment for all of it or a list with one
            for each event.
        person
            Who it is, by any string that is theirs alone; for a block, a list with one for each event. People are then
            counted: once a person was asked for as many losses as the guarantee's `contributions` says, `wants_loss` is
            False, and what is told is dropped unread. A keyed hash is kept, and never the string. From the first event
            on, all calls say it, or none does.
        """
        if size is None and person is None and segment is None:
            action = next(self._at_hand, None)  # one step, which needs no lock
            if action is not None:
                return action  # type: ignore[no-any-return]
        if size is None and person is None and (segment is None or type(segment) is str):
            stream = self._policy.numbers.get(segment)
            if stream is not None:
                with self._lock: return self._ask_counted(stream)  # noqa: E701  # fmt: skip
        with self._lock: return self._ask_for(size, segment, person)  # noqa: E701  # fmt: skip

    def _ask_counted(self, own: int) -> Action:
        """Return the next action for the segment that has a stream of its `own`, and note whom it is for."""
        stream = self._policy.route(own)
        action: Action = self._ask_one(stream)
        self._policy.count(own, stream, 1)
        return action

    def _ask_for(self, size: int | None, segment: Any, person: Any) -> Action | Actions:
        if size is None and not are_several(segment) and (person is None or isinstance(person, str)):
            if person is not None:
                return next(iter(self._block_for(1, segment, people=self._hashed([person]))))
            return self._ask_counted(self._own_stream_of(segment))
        if self.segments is None:
            self._policy.key(segment)  # refuses any
        if size is None:
            size = len(people_of(person) or several(segment))
        count = whole("size", size)
        people = people_for(count, person)
        return self._block_for(count, segment, people=self._hashed(people))

    def _block_for(
        self, size: int, segment: Any, streams: Integers | None = None, people: Sequence[bytes] | None = None
    ) -> Actions:
        """Return a block of actions for a segment, or for one each; of `streams`, if that is decided."""
        own = self._own_streams_of(size, segment)
        streams = self._policy.route(own) if streams is None else streams
        handed = self._ask_block(size, streams, people)
        self._policy.count(own, streams, size)
        return self._actions(handed)

    @locked
    def ask_round(
        self, most: int | None = None, *, segment: Any = None, person: Sequence[str] | None = None
    ) -> Actions:
        """Return the rest of the current round (or `most` of it), or of the next one if nothing is left of it.

        Parameters
        ----------
        most
            How many actions at most; None for all that are left of the round.
        segment
            Whose round, of an optimizer with `segments`; or a list with one for each event that comes. Then actions are
            for the first of these, until one is the last of its segment's round: whoever tells their losses before
            asking on loses nothing by blocks.
        person
            Where people are counted: a list with one for each event that comes; actions are for the first of these.
        """
        most, named = None if most is None else whole("most", most), people_of(person)
        self._poll_next()
        self._store.check()
        if self._incarnation != self._store.incarnation:
            self._refresh()
        self._check_remaining(1)
        self._close_overdue()
        if are_several(segment):
            events = several(segment)
            people = self._hashed(people_for(len(events), named))
            return self._ask_until_an_end(list(events[:most]), people)
        stream, people = self._stream_of(segment), self._hashed(named)
        if people is not None:
            most = len(people) if most is None else min(most, len(people))
        size = self._rest_of_round(stream, most, None if people is None else people[0])
        size = size if self.remaining is None else min(size, self.remaining)
        return self._block_for(size, segment, people=people and people[:size])

    def _ask_until_an_end(self, segments: list[Any], people: list[bytes] | None) -> Actions:
        policy = self._policy
        if self.segments is None:
            policy.key(segments)  # refuses any
        if not segments:
            raise ValueError("segment is an empty list: name at least one event's")
        size = len(segments) if self.remaining is None else min(len(segments), self.remaining)
        keys, index = segments_of_block(policy.key, size, segments[:size])
        policy.check_room(keys)
        # Segments that have no stream yet will have one each, unless there is a pool.
        routes = [policy.route_of(key, -1 - place) for place, key in enumerate(keys)]
        left, own, whole = dict[int, int](), policy.own, size
        for event, place in enumerate(index.tolist()):
            stream = routes[place]
            if stream not in left:  # only now: a round that is begun later knows more
                person = None if people is None else people[event]
                begun = 0 if stream < 0 else self._left_of_begun(stream)
                left[stream] = begun or self._rest_of_round(self._stream_of(keys[place]), person=person)
                if policy.own != own:  # with the event that has begun a round of the pool, some have left it
                    own, whole = policy.own, event + 1
            left[stream] -= 1
            if not left[stream]:
                size = event + 1
                break
        size = min(size, whole)
        decided = None if min(routes) < 0 else np.array(routes)[index[:size]]
        return self._block_for(size, segments[:size], streams=decided, people=people and people[:size])

    def _stream_of(self, segment: Any) -> int:
        """Return the stream that a segment is asked for in; its own is opened if it has none."""
        return int(self._policy.route(self._own_stream_of(segment)))

    def _own_stream_of(self, segment: Any) -> int:
        """Return the stream of a segment, opened if it has none."""
        return self._streams_of_keys([self._policy.key(segment)])[0]

    def _own_streams_of(self, size: int, segment: Any) -> Integers | int:
        """Return the stream of each event's segment, or one for all."""
        given = segment.tolist() if isinstance(segment, np.ndarray) else segment
        if type(given) is list and len(given) == size and set(map(type, given)) == {str}:  # plain names, as is usual
            with suppress(KeyError):
                return np.fromiter(map(self._policy.numbers.__getitem__, given), np.int64, size)
        if not are_several(segment):
            return self._own_stream_of(segment)
        self._check_remaining(size)
        keys, index = segments_of_block(self._policy.key, size, segment)
        return np.array(self._streams_of_keys(keys))[index]

    def _streams_of_keys(self, keys: list[Segment]) -> list[int]:
        """Return the streams of segments, opened if they have none: all of them, or none."""
        policy = self._policy
        if not all(key in policy.numbers for key in keys):
            self._store.check()
            self._refresh()
            policy.check_room(keys)
            for key in keys:
                if key not in policy.numbers:
                    self._stream_named(policy.name_of(key))
        return [policy.numbers[key] for key in keys]

    def _catch_up(self) -> set[int]:
        learned = super()._catch_up()
        for stream in learned:
            self._store.let_go(stream)
        return learned

    def _admit(self, name: str) -> None:
        self._refresh()
        self._policy.admit(name)

    def _actions(self, handed: HandedOut) -> Actions:
        """Return actions in the order of the events that they were asked for: by stream they come from the book."""
        ids, wanted, back = handed.ids, handed.wanted, None
        if handed.order is not None:
            back = np.empty_like(handed.order)
            back[handed.order] = np.arange(len(back))
            ids, wanted = ids[back], wanted[back]
        problems, numbers = self._policy.problems, [one.public["set"] for one in handed.rounds]
        if len(set(numbers)) > 1:
            return Actions(self._shown(ids), self._pieces(handed, numbers, back), wanted)
        x = joined(handed.actions)
        return Actions(self._shown(ids), x if back is None else x[back], wanted, problems[numbers[0]].domain)

    def _pieces(self, handed: HandedOut, numbers: list[int], back: Integers | None) -> list[Piece]:
        """Return decisions of several sets, in the names of those that their rounds play."""
        sets = np.repeat(numbers, [len(one) for one in handed.actions])
        each = [one[at : at + 1] for one in handed.actions for at in range(len(one))]
        order = range(len(each)) if back is None else back.tolist()
        return [
            Piece(joined([each[at] for at in run]), self._policy.problems[number].domain)
            for number, run in groupby(order, lambda at: sets[at])
        ]

    # ------------------------------------------------------------------ telling

    def tell(self, ids: Any, losses: Any = None, *, report: Any = None, late: str = "error") -> None:
        """Report the loss of an action, or of a block of them: any order, any split, each id once, all or nothing.

        Losses outside the range are clipped without a word. NaN and infinity are refused, without showing them. What an
        action with `wants_loss` False is told is dropped unread. Under `LocalDP` only privatised reports are taken:
        `tell(id, report=sv.local.privatise(loss, optimizer.channel))`. A loss that comes after its action was
        forgotten, or its round ran out of patience, is refused (`RoundClosed`), and with it the whole call;
        `late="drop"` drops such losses, and records the others.

        Parameters
        ----------
        ids
            The id of one action, or an array of them.
        losses
            A number for each id. With `feedback="items"`: the losses of its items, by name (those that are not named
            are 0, where `most` is given) or in the order of `chosen`; of a block, one such for each id, or an array of
            shape (size, k).
        report
            In place of losses under `LocalDP`: what `sv.local.privatise` returned for each id.
        late
            "error" refuses a call with losses that come too late, "drop" drops those.
        """
        if report is None and self._plain and type(ids) is int and late == "error":  # the usual case, at once
            try:
                with self._lock: stream = self._record_one(ids, self._quantise(losses))  # noqa: E701  # fmt: skip
            except InvalidLoss:
                stream = None
            if stream is not None:
                if stream >= 0:
                    with self._lock: self._release({stream})  # noqa: E701  # fmt: skip
                return
        if self._attentive or report is not None or late != "error":
            losses = self._reported(losses, report, late)
        one: Any = ids if self._texts is None else isinstance(ids, str) and self._texts.number(str(ids))
        if type(one) is int and not self._itemised:
            self._tell_one(one, losses, late, self.repeat)
        else:
            self._tell_several(ids, losses, late)

    @locked
    def _tell_several(self, ids: Any, losses: Any, late: str) -> None:
        """Take the losses of a block, or of items, under one lock: a change of sets may make rows wider."""
        self._tell_block(*self._read(ids, losses), late, self.repeat)

    def _read(self, ids: Any, losses: Any) -> tuple[Integers, Floats]:
        """Return ids as the store knows them, and a loss for each, or a row of those of its items."""
        given = self._numbers(ids)
        if self._itemised:
            return given.ravel(), self._by_item(given.ravel(), [losses] if given.ndim == 0 else losses)
        values = as_array(losses)
        if values.shape != given.shape:
            raise InvalidLoss(f"losses must have the shape of ids, {given.shape}")
        return given.ravel(), values.ravel()

    def _by_item(self, ids: Integers, reports: Any) -> Floats:
        """Return losses in the order of each decision's items; NaN for what comes too late, or again: unread."""
        told = as_rows(reports, len(ids))
        fills = isinstance(told, np.ndarray) and told.shape[1] == self._policy.grid.width and self._policy.fills_slots
        if fills and self._knows_sets_of(ids):
            return np.asarray(told)
        rest = 0.0 if self._configuration.most else self._configuration.loss_range[self.direction == "maximize"]
        waiting = np.flatnonzero(self._store.look(ids) == WAITING).tolist()
        if self._incarnation != self._store.incarnation:
            self._refresh()  # sets may be others now
        decisions, one = {}, None  # first: it may be the first that is heard of a set
        for at in sorted(waiting, key=ids.__getitem__):
            place = int(ids[at])
            if one is None or not one.first <= place < one.first + one.size:
                one = self._store.round_with(place)
            if one is not None:  # or it was told, and released, meanwhile
                decisions[at] = one, self._policy.items_at(one, place - one.first)
        rows = np.full((len(ids), self._policy.grid.width), np.nan)
        for at, (one, items) in decisions.items():
            domain = self._policy.problem_of(one).domain
            rows[at, len(items) :] = rest
            losses = in_items(told[at], len(items), partial(domain.names_at, items))
            rows[at, : len(items)] = with_zeros(losses, self._configuration.most is not None)
        return rows

    def _knows_sets_of(self, ids: Integers) -> bool:
        """Whether what ids play is of sets that this process has heard of."""
        return True

    def _numbers(self, ids: Any) -> Integers:
        """Return the ids that a caller passed as the store knows them."""
        if self._texts is None:
            return as_ids(ids)
        refuse_actions(ids)
        return self._texts.numbers(ids).reshape(np.shape(ids))

    def _reported(self, losses: Any, report: Any, late: str) -> Any:
        """See to what few calls need: reports in place of losses, and what becomes of those that come too late."""
        choice("late", late, ("error", "drop"))
        return losses_or_reports(losses, report, local=self._local, owner="optimizer")

    def forget(self, ids: Any) -> int:
        """Close actions whose loss will never come: each counts as the middle of the range, whatever it was.

        What is told or forgotten already is skipped. Returns how many were closed.

        Parameters
        ----------
        ids
            The id of one action, or an array of them.
        """
        return super().forget(self._numbers(ids).ravel())

    # ------------------------------------------------------------------ changing

    @locked
    def change(self, *, domain: Domain | None = None, features: Any = None) -> None:
        """Change the set of decisions: from the next round on the new one is played.

        What is known is carried over by name: new names begin with the prior, names that return are remembered. Rounds
        that are open go on as they were asked, and their losses count. Sets and names are public, and a change costs no
        privacy: choose its moment without looking at losses. It is for feedback by item and for posterior probes of
        linear losses; with feedback by item a decision has at most three times as many items as those of the first set.

        Parameters
        ----------
        domain
            The new set, with names.
        features
            A row for each of its coordinates, if the run was made with features.

        Examples
        --------
        >>> import sottovoce as sv
        >>> optimizer = sv.PrivateBandit(
        ...     sv.domains.Simplex(["tea", "coffee", "cocoa"]),
        ...     horizon=2000,
        ...     loss_range=(0.0, 1.0),
        ...     privacy=sv.PureDP(epsilon=1.0),
        ...     integral=True,
        ...     seed=1,
        ... )
        >>> actions = optimizer.ask_round()
        >>> optimizer.change(domain=sv.domains.Simplex(["tea", "milk", "cocoa", "juice"]))
        >>> {name for one in optimizer.ask(100) for name in one.chosen} <= {"tea", "milk", "cocoa", "juice"}
        True
        """
        if domain is None:
            raise TypeError("there is nothing to change: pass domain=, and features= beside it if there are some")
        change = SetChange(domain, features)
        self._store.check()
        self._refresh()
        if not change.is_in(self._problem):  # or a call that is repeated
            self._policy.check_change(change)
            self._note_change(change)

    def _note_change(self, change: SetChange) -> None:
        self._policy.change(change)

    def _read_changes(self) -> None:
        """Take over sets that other processes have changed to."""

    # ------------------------------------------------------------------ looking

    @property
    def _problem(self) -> Problem:
        return self._policy.problem

    @property
    def domain(self) -> Domain:
        """The feasible set; after a `change` the new one, which the next round plays."""
        return self._problem.domain

    @property
    def loss_range(self) -> tuple[float, float]:
        """What losses, or rewards, are clipped to."""
        return self._configuration.loss_range

    @property
    def direction(self) -> str:
        """What is sought: "minimize" losses, or "maximize" rewards, which are told in their place."""
        return str(self._configuration.direction)

    @property
    def segments(self) -> Segments | None:
        """Whom decisions are for; None if that makes no difference."""
        return self._configuration.segments  # type: ignore[no-any-return]

    @property
    def sizes(self) -> dict[Segment, int]:
        """Events that were asked, by segment, in the order in which segments were first asked for."""
        return {} if self.segments is None else self._policy.sizes(self._store.asked)

    @property
    def channel(self) -> Any:
        """Under `LocalDP`: what owners privatise their losses with."""
        return self._problem.channel_of_owners

    @property
    def patience(self) -> int | None:  # type: ignore[override]
        """How many later positions, of all segments, a full round waits for its losses; None for ever."""
        return patience_for(self._configuration.patience, self.horizon, self.asked)

    @property
    def round(self) -> int:
        """Rounds that are closed, of all segments."""
        return sum(self._store.closed().values())

    @locked
    def outstanding(self, limit: int | None = None) -> Outstanding:
        """Return the actions that were asked, and whose loss is neither told nor forgotten; the oldest `limit` of them.

        Printed, it says which round waits for what, and what to do.
        """
        limit = None if limit is None else whole("limit", limit, least=0)
        if self._store.shared:  # others may have left what is due
            self._tend()
        found = outstanding_of(self._store, self._waiting_rounds(), limit)
        return replace(found, ids=self._shown(found.ids))

    def _waiting_rounds(self) -> Iterator[tuple[OpenRound, WaitingRound]]:
        """Go through the open rounds, and what each waits for."""
        names = {stream: segment for segment, stream in self._policy.numbers.items()}
        for one in self._store.open_rounds():
            left = seconds = None
            if one.full_at is not None and self.patience is not None:
                left = max(0, one.full_at + self.patience - self.asked)
            if one.full_time is not None and self.deadline is not None:
                seconds = max(0.0, one.full_time + self.deadline - self._store.now())
            not_asked, segment = one.round.size - one.asked, names.get(one.round.stream)
            wanted = one.told + one.missing + one.waiting + not_asked
            yield one, WaitingRound(one.round.number, one.waiting, wanted, not_asked, left, seconds, segment)

    @computing
    def recommend(self, *, segment: Any = None) -> Recommendation:
        """Return the decision to take home, now or after the last event, with how sure that is and what it rests on.

        Released values alone decide it. The point that actions are taken around may lag behind: see `point`.

        Parameters
        ----------
        segment
            For whom, of an optimizer with `segments`; None for one decision for all of them, with that of each beside
            it.
        """
        self._learn()
        return self._policy.recommended(segment, self._policy.sizes(self._store.asked))

    def forecast(self, *, rehearse: float = 1.0) -> Forecast:
        """Return what to expect of the whole run, rehearsed in worlds like the one that released numbers show.

        That takes a few seconds, and costs no privacy. While nothing tells good decisions from bad ones it is a table,
        as that of `sv.plan`.

        Parameters
        ----------
        rehearse
            What the work that it may take is multiplied by.
        """
        return self._forecaster(number("rehearse", rehearse, above=0.0, at_most=1000.0))()

    def _forecaster(self, times: float) -> Callable[[], Forecast]:
        """Return what makes the forecast, and needs this optimizer no more."""
        seen = self._seen_world()
        rehearsal: Any = importlib.import_module("sottovoce.rehearsal")  # which plays optimizers, and stands above them
        made = self._configuration
        return partial(
            rehearsal.forecast_under_way,
            *(self._problem, made.plan, made.choices, seen),
            horizon=self.horizon,
            times=times,
        )

    @computing
    def _seen_world(self) -> SeenWorld | None:
        self._learn()
        return seen_in(self._beliefs(None), self._policy.sizes(self._store.asked), self._problem)

    @computing
    def posterior(self, *, segment: Any = None) -> Posterior:
        """Return what is believed about losses: to look at, to `save`, and to begin another run with (`prior=`).

        It holds released values alone. Plans without a model (frames, designs, the paper's) have none, and say so.

        Parameters
        ----------
        segment
            Of whom, of an optimizer with `segments`.
        """
        self._learn()
        belief = self._policy.belief_of(self._policy.key(segment))
        return replace(believed(belief, self._problem, self.plan), promises=self.privacy.promises)

    @computing
    def fit_check(self, *, segment: Any = None) -> FitCheck | None:
        """Return how well what was released fits the model of the losses; None if the plan has none.

        Its `caution` says what to do if it does not; `recommend` repeats it.

        Parameters
        ----------
        segment
            Of whom, of an optimizer with `segments`; None for the one that it fits least, its p-value multiplied by the
            number of segments.
        """
        self._learn()
        each = [belief.fit_check() for belief in self._beliefs(segment).values()]
        worst = min(each, key=lambda one: one.probability, default=None)
        return None if worst is None else replace(worst, probability=min(1.0, len(each) * worst.probability))

    @locked
    def _tend(self) -> None:
        """Close rounds that are complete, or past their deadline; whoever opened a study only to look closes none."""
        self._store.check()
        if self._releases:
            self._store.close_overdue(None, self.deadline)  # patience counts events: asking sees to it
            self._release_complete(set(self._policy.streams))

    def _learn(self) -> None:
        """Release what is complete, and learn from all that was released."""
        self._tend()
        self._catch_up()

    def _beliefs(self, segment: Any) -> dict[Segment | None, Any]:
        """Return what is believed of a segment, or of each that was asked for; nothing, if the plan believes nothing.

        Of one that was never asked for, it is what others say.
        """
        policy = self._policy
        found = {one: policy.belief_of(one) for one in (policy.numbers if segment is None else [policy.key(segment)])}
        return {one: belief for one, belief in found.items() if belief is not None}

    @property
    @computing
    def point(self) -> Floats:
        """The point that actions are taken around at present: a function of released values alone."""
        if self._undone:
            self._refresh()
        return self._policy.point()

    @property
    def plan(self) -> Plan:
        """The plan in force; that of the current epoch if the horizon is unknown."""
        return self._policy.newest.plan

    @property
    def privacy(self) -> PrivacyStatement:
        """The statement: what is promised, to whom, against whom, why it holds, what is not covered."""
        counted, simulated = self._store.counts_people, self._source.simulated
        doubling = self.horizon is None
        return describe(self._problem, self.plan, simulated=simulated, doubling=doubling, counted=counted)
