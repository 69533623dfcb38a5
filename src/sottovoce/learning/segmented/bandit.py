"""What `PrivateBandit(..., segments=...)` returns: an optimizer of several segments.

An event belongs to one segment, its loss is in one released number of that segment's lane, and what segments tell each
other is computed from released numbers. So the promise is that of one optimizer, given once.

Tests: tests/learning/segmented/.
"""

from dataclasses import replace
from typing import Any, Self

from sottovoce._arrays import Floats
from sottovoce._checks import whole
from sottovoce.domains import Domain
from sottovoce.errors import StateRefused
from sottovoce.exploration.posterior import Belief, Likeness, Misfit, Posterior, Segment
from sottovoce.learning.bandit import saved_state
from sottovoce.learning.bandit._life import resume_life
from sottovoce.learning.bandit.actions import Actions
from sottovoce.learning.bandit.outstanding import Outstanding, joined_outstanding
from sottovoce.learning.bandit.patience import patience_for
from sottovoce.learning.bandit.recommendation import Recommendation, believed_by
from sottovoce.learning.segmented._books import SegmentedBooks
from sottovoce.learning.segmented.lane import segment_of
from sottovoce.learning.segmented.recommendation import SegmentedRecommendation, for_all, for_segment
from sottovoce.learning.segmented.requests import are_several, missing_segment, several
from sottovoce.privacy import Ledger, NoiseSource

__all__ = ["SegmentedBandit"]


class SegmentedBandit(SegmentedBooks):
    """What `PrivateBandit(..., segments=...)` returns: the same, for several segments."""

    def ask(self, size: int | None = None, *, segment: Any = None) -> Any:
        """Return the next action for a segment, or a block of them, for one segment or one for each event.

        Parameters
        ----------
        size
            How many actions; None for a single `Action`, or as many as there are segments in a list.
        segment
            Whom it is for; a list for a block with one for each event.
        """
        if size is None and (type(segment) is str or not are_several(segment)):
            with self._lock: return self._ask_for(segment)  # noqa: E701  # fmt: skip
        count = len(several(segment)) if size is None else whole("size", size)
        with self._lock: return self._ask_for_each(count, segment)  # noqa: E701  # fmt: skip

    def ask_round(self, most: int | None = None, *, segment: Any = None) -> Actions:
        """Return the rest of a segment's current round, or of its next one if nothing is left of it.

        Parameters
        ----------
        most
            How many actions at most; None for all that are left of the round.
        segment
            Whose; or a list with one for each event that comes. Then actions are for the first of these, until one is
            the last of its segment's round: whoever tells their losses before asking on loses nothing by blocks.
        """
        limit = None if most is None else whole("most", most)
        if are_several(segment):
            given = several(segment)[:limit]
            with self._lock: return self._ask_until_an_end(given)  # noqa: E701  # fmt: skip
        with self._lock: return self._ask_round_of(segment, limit)  # noqa: E701  # fmt: skip

    # ------------------------------------------------------------------ looking

    @property
    def round(self) -> int:
        """Rounds that are closed, of all segments."""
        return sum(lane.round for lane in self._lanes)

    @property
    def sizes(self) -> dict[Segment, int]:
        """Events that were asked, by segment, in the order in which segments were first asked for."""
        return {lane.segment: lane.asked for lane in self._lanes}

    @property
    def patience(self) -> int | None:
        """How many later positions, of all segments, a full round waits for its losses; None for ever."""
        return patience_for(self._configuration.patience, horizon=self.horizon, planned=self._clock())

    @property
    def point(self) -> Floats:
        """There is one for each segment: ask `recommend`."""
        raise ValueError("each segment plays around a point of its own: recommend(segment=...) says what is best")

    def recommend(self, *, segment: Any = None) -> Any:
        """Return the decision to take home for a segment; or one for all, with that of each segment beside it.

        Parameters
        ----------
        segment
            For whom; None for all.
        """
        if segment is None:
            with self._lock: return self._recommended_for_all()  # noqa: E701  # fmt: skip
        with self._lock: return self._recommended_for(segment)  # noqa: E701  # fmt: skip

    def posterior(self, *, segment: Any = None) -> Posterior:
        """Return what is believed about the losses of a segment, with what others say of it.

        Parameters
        ----------
        segment
            Of whom.
        """
        with self._lock: return self._believed_of(segment)  # noqa: E701  # fmt: skip

    def misfit(self, *, segment: Any = None) -> Misfit | None:
        """Return how well what was released fits the model, of a segment; or of the one that it fits least.

        Parameters
        ----------
        segment
            Of whom; None for the one that it fits least, its p-value multiplied by the number of segments.
        """
        with self._lock: return self._misfit_of(segment)  # noqa: E701  # fmt: skip

    def _belief_of(self, segment: Any) -> Belief:
        """Return what is believed of a segment, with what others say; of one that was never asked for, just that."""
        self._tidy()
        if segment is None:
            raise missing_segment()
        key = self.segments.key(segment)
        lane = self._by_segment.get(key)
        if lane is not None:
            return lane.informed_belief()
        explorer: Any = self._epoch.explorer
        unseen: Belief = explorer.belief.sibling()
        said = self._kinship.prior(-1, self.segments.row(key), self._sizes_of_members())
        unseen.lean_on(said, unseen.settings)
        return unseen

    def _recommended_for(self, segment: Any) -> Recommendation:
        return for_segment(self._belief_of(segment), self.domain)

    def _recommended_for_all(self) -> SegmentedRecommendation:
        self._tidy()
        beliefs = {lane.segment: lane.informed_belief() for lane in self._lanes}
        explorer: Any = self._epoch.explorer
        return for_all(beliefs, self.sizes, self._kinship, explorer.belief, self.domain)

    def _believed_of(self, segment: Any) -> Posterior:
        statement = self.privacy
        known = believed_by(self._belief_of(segment), self.domain)
        return replace(known, promises=statement.promises)

    def _misfit_of(self, segment: Any) -> Misfit | None:
        if segment is not None:
            return self._belief_of(segment).misfit()
        self._tidy()
        found = [lane.informed_belief().misfit() for lane in self._lanes]
        worst = min(found, key=lambda one: one.probability, default=None)
        return None if worst is None else replace(worst, probability=min(1.0, len(found) * worst.probability))

    def _outstanding(self, limit: int | None) -> Outstanding:
        self._tidy()
        return joined_outstanding([(lane.segment, lane.outstanding(limit)) for lane in self._lanes], limit)

    @property
    def oracle_calls(self) -> int:
        """Calls of the linear oracle that were made for this optimizer, `setup_oracle_calls` among them."""
        setup = self._problem_calls + sum(one.oracle_calls for one in self._templates.values())
        return setup + sum(lane.oracle_calls for lane in self._lanes)

    def __repr__(self) -> str:
        return (
            f"PrivateBandit({self.domain!r}, horizon={self.horizon}, privacy={self._problem.privacy!r}, "
            f"segments={self.segments!r}, asked={self._clock()}, closed_rounds={self.round})"
        )

    # ------------------------------------------------------------------ saving

    def _saved(self) -> bytes:
        self._tidy()
        for lane in self._lanes:
            lane.settle()
        lanes = {f"lane{lane.number}.{name}": one for lane in self._lanes for name, one in lane.to_record().items()}
        return saved_state.save(
            self._configuration,
            self._epoch,
            coins=self._coins,
            asked=self._clock(),
            planned=self._epochs.planned,
            released=self.round,
            finished_calls=self._epochs.finished_calls,
            lanes=len(self._lanes),
            likeness=list(self._kinship.likeness.places()),
            seed=self.seed,
            simulated=self._source.simulated,
            name=self._life.name,
            token=self._life.hand_over(),
            **lanes,
        )

    @classmethod
    def from_state(
        cls,
        state: bytes,
        *,
        domain: Domain | None = None,
        noise: NoiseSource | None = None,
        ledger: Ledger | None = None,
        name: str | None = None,
    ) -> Self:
        """Return an optimizer that goes on where `state` was taken; see `PrivateBandit.from_state`."""
        saved = saved_state.load(state, domain=domain, noise=noise)
        if saved.token is not None and ledger is None:
            raise StateRefused(f"{saved.name!r} was charged to a ledger, and this life must be, too: pass ledger=")
        self = cls.__new__(cls)
        self._prepare(saved.configuration, saved.source, saved.seed)
        self._coins.bit_generator.state = saved.coins
        self._epochs = self._next_epoch(None)
        self._start_lanes(saved_state.number_of_life())
        for record in saved.lanes:
            self._admit(self._new_lane(self.segments.key(segment_of(record["segment"])), record))
        self._kinship.likeness = Likeness.at(saved.likeness)
        if self.remaining == 0:
            raise StateRefused(f"all {self.horizon} events of this state were asked: there is nothing to go on with")
        simulated = self._source.simulated
        self._charge(resume_life(ledger, name or saved.name, saved.token, self._problem.privacy, simulated=simulated))
        return self
