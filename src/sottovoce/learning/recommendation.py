"""The decision to take home: what was released so far says that it is the best. Nothing here reads a loss.

Of several segments, there is one for all of them, and one for each beside it, with what telling them apart gains.

- Posterior probes: the best decision for the posterior mean, with how sure that is.
- Losses that are linear, or actions that are vertices: the vertex that is best for the released sum of gradients.
- Otherwise: the learner's newest point, whatever the delay with which rounds play it.

Tests: tests/learning/test_recommendation.py.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np

from sottovoce._arrays import Floats
from sottovoce._printed import Part, Printed
from sottovoce.domains.naming import as_plain, in_words, label_text
from sottovoce.domains.specification import as_stored
from sottovoce.learning.epoch import Epoch
from sottovoce.models import Belief, FitCheck, HierarchicalPrior, ItemHierarchy, Posterior, Segment, segment_text
from sottovoce.models.published import quantity
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem

_NUMBERS = 4_000_000  # of posterior samples that are held at once
_DRAWS, _CURVED_DRAWS, _FEW_DRAWS = 200, 50, 2
_NOTHING = 1e-9  # a loss that is none
_SHOWN, _SHOWN_SEGMENTS = 12, 20  # entries, in print
_OF_PRIOR = "the best decision for what the prior knows: no round has released anything yet"
_WHYS = {"items": "the best decision for what is believed of each item"}


@dataclass(frozen=True)
class SegmentGain:
    """What a segment gains by a decision of its own, per event.

    Attributes
    ----------
    mean, low, high
        How much better it is expected to be per event than the decision for all, and between what with a probability of
        95%.
    differs
        Whether its decision is another than that for all.
    """

    mean: float
    low: float
    high: float
    differs: bool

    @property
    def sure(self) -> bool:
        """Whether it gains with a probability of 97.5%."""
        return self.differs and self.low > 0


@dataclass(frozen=True, eq=False)
class Recommendation(Printed):
    """The decision to take home, as far as is known: a function of released values alone.

    Attributes
    ----------
    x
        The decision: a vertex if losses are linear or actions have to be vertices.
    chosen
        The decision in the names of the set's coordinates: see `Domain.chosen`.
    words
        The decision in a line of text.
    why
        What it rests on, in words.
    rounds
        Rounds that it rests on; 0 if nothing was released yet, and then it is a mere beginning.
    loss, deviation
        The loss per event (with `direction="maximize"`, the reward) that is expected of it, and how far off that may be
        (a standard deviation); None where plans do not know.
    share
        Of the decisions that may be the best, drawn from what is believed, the share that are this one (or near it,
        where losses are convex); None where plans do not know.
    shortfall
        How much better the best decision is likely to be, per event: the mean, and what it stays below with a
        probability of 95%; None where plans do not know.
    fit_check
        How well released numbers fit the model; None where there is none.
    caution
        What to mind, in words, if the model does not fit; otherwise empty.
    items
        With feedback by item: of each item that it chooses, the loss that is expected and its standard deviation, by
        name; None otherwise.
    direction
        "minimize", or "maximize" if these numbers are rewards.
    segments
        Of an optimizer with segments: that of each, in the order in which they were first asked for;
        ``recommendation["phone"]`` is one of them. None otherwise.
    events
        How many were asked; of a segment, for it.
    gain
        Of a segment: what it gains by this decision over the one for all; of the one for all: what all segments gain
        by their own, per event.
    variance_shares
        How alike segments are, by what was released: the share of what is believed beforehand that each part has.

    Examples
    --------
    >>> import sottovoce as sv
    >>> optimizer = sv.PrivateBandit(
    ...     sv.domains.Simplex(["tea", "coffee", "cocoa", "milk"]),
    ...     horizon=500,
    ...     loss_range=(0.0, 1.0),
    ...     privacy=sv.NoPrivacy(),
    ...     integral=True,
    ...     seed=1,
    ... )
    >>> actions = optimizer.ask(500)
    >>> optimizer.tell(actions.ids, actions.x @ [0.9, 0.2, 0.8, 0.7])
    >>> optimizer.recommend().x, optimizer.recommend().chosen
    (array([0., 1., 0., 0.]), ['coffee'])
    """

    x: Floats
    why: str
    rounds: int
    loss: float | None = None
    deviation: float | None = None
    share: float | None = None
    shortfall: tuple[float, float] | None = None
    fit_check: FitCheck | None = None
    caution: str = ""
    chosen: Any = None
    words: str = ""
    items: dict[Any, tuple[float, float]] | None = None
    direction: str = "minimize"
    segments: "Mapping[Segment, Recommendation] | None" = None
    events: int = 0
    gain: SegmentGain | None = None
    variance_shares: Mapping[str, float] = field(default_factory=dict)

    def __getitem__(self, segment: Segment) -> "Recommendation":
        return (self.segments or {})[segment]

    def __iter__(self) -> Iterator[Segment]:
        return iter(self.segments or {})

    @property
    def helps(self) -> bool:
        """Whether telling segments apart pays, with a probability of 97.5%."""
        return self.gain is not None and self.gain.sure

    @property
    def verdict(self) -> str:
        """Whether telling segments apart pays, in words; empty where there are none."""
        if self.segments is None or self.gain is None:
            return ""
        each, gain = list(self.segments.values()), self.gain
        if not each:
            return "no segment has been asked for yet"
        if silent := sum(not one.rounds for one in each):
            return f"too early to say whether segments help: nothing was released yet of {silent} of {len(each)}"
        if not gain.differs:
            unsure = max((one.shortfall[1] for one in each if one.shortfall is not None), default=0.0)
            if unsure > 0:
                return (
                    "too early to say whether segments help: so far one decision is the best for all, and that of a "
                    f"segment may be better by {unsure:.2g} per event"
                )
            return "segments do not help here, as far as is known: the best decision is the same for all of them"
        if gain.sure:
            sure = sum(one.gain is not None and one.gain.sure for one in each)
            return (
                f"segments help: decisions of their own are better than one for all by {gain.mean:.2g} per event, "
                f"between {gain.low:.2g} and {gain.high:.2g}; {sure} of {len(each)} segments gain with a "
                "probability of 97.5% each"
            )
        return (
            f"segments do not help, as far as is known: one decision for all is worse by {gain.mean:.2g} per event, "
            f"and that may be nothing (between {max(0.0, gain.low):.2g} and {gain.high:.2g})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold."""
        plain = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "words"} | {
            "fit_check": self.fit_check and self.fit_check.to_dict(),
            "items": self.items and [(name, *two) for name, two in self.items.items()],
            "gain": self.gain and asdict(self.gain),
        }
        if self.segments is not None:
            each = [{"segment": one, **found.to_dict()} for one, found in self.segments.items()]
            plain |= {"segments": each, "helps": self.helps, "verdict": self.verdict}
        written: dict[str, Any] = as_plain(plain)
        return written

    _name_width = 9

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """What it says: names and texts."""
        rows = [("decision", self.words or in_short(self.x)), ("why", self.why)]
        if self.loss is not None:
            give_or_take = "" if self.deviation is None else f", give or take {self.deviation:.2g}"
            rows.append((quantity(self.direction), f"{self.loss:.4g} per event expected{give_or_take}"))
        if self.items:
            each = sorted(self.items.items(), key=lambda one: one[1][0], reverse=self.direction == "maximize")
            shown = [f"{label_text(name)} {loss:.3g} ± {deviation:.2g}" for name, (loss, deviation) in each[:_SHOWN]]
            more = f" and {len(each) - _SHOWN:,} more" if len(each) > _SHOWN else ""
            rows.append(("items", ", ".join(shown) + more))
        if self.segments is not None:  # each is as sure as it is
            rows += self._segment_rows(self.segments)
        elif self.share is not None and self.shortfall is not None:
            rows.append(("how sure", self._how_sure(self.share, *self.shortfall)))
        elif self.rounds:
            rows.append(("how sure", "not known: this plan has no model of the losses"))
        if self.caution:
            rows.append(("caution", self.caution))
        if self.verdict:
            rows.append(("verdict", self.verdict))
        return tuple(rows)

    def _segment_rows(self, segments: "Mapping[Segment, Recommendation]") -> list[tuple[str, str]]:
        rows = []
        for segment, one in sorted(segments.items(), key=lambda each: -each[1].events)[:_SHOWN_SEGMENTS]:
            what = "as for all"
            if one.gain is not None and one.gain.differs:
                what = f"{one.words}, better by {one.gain.mean:.2g} per event"
            rows.append((segment_text(segment), f"{what} ({one.events:,} events)"))
        if len(segments) > _SHOWN_SEGMENTS:
            rows.append(("", f"and {len(segments) - _SHOWN_SEGMENTS:,} smaller segments"))
        return rows

    def _parts(self) -> list[Part]:
        rounds = f"after {self.rounds:,} rounds" if self.rounds else "before anything was released"
        return [(f"Recommendation{'' if self.segments is None else ' for all segments'}, {rounds}", self.rows)]

    def _how_sure(self, share: float, mean: float, most: float) -> str:
        known = "what was released" if self.rounds else "the prior"
        same = f"this is the best decision, or close to it, in {share:.0%} of the worlds that fit {known}"
        if mean < _NOTHING:
            return f"{same}; there is hardly anything to gain by another one"
        most_words = "nothing" if most < _NOTHING else f"at most {most:.2g}"
        return f"{same}; the best one gains {mean:.2g} more per event on average, and {most_words} in 95% of them"


def in_short(x: Floats) -> str:
    """Say which decision it is: by its entries, or by those that are not 0 if most of them are.

    Examples
    --------
    >>> in_short(np.eye(100)[3])
    '1 at 3, 0 elsewhere (100 coordinates)'
    """
    places = np.flatnonzero(x)
    if len(x) <= _SHOWN or 2 * len(places) > len(x):
        with np.printoptions(precision=4, suppress=True, threshold=2 * _SHOWN):
            return str(x + 0.0).replace("\n", " ")
    more = f" and {len(places) - _SHOWN:,} more" if len(places) > _SHOWN else ""
    if (x[places] == 1).all():
        shown = f"1 at {', '.join(map(str, places[:_SHOWN]))}{more}"
    else:
        shown = ", ".join(f"{x[place]:.4g} at {place}" for place in places[:_SHOWN]) + more
    return f"{shown}, 0 elsewhere ({len(x):,} coordinates)"


def shown(found: Recommendation, problem: Problem) -> Recommendation:
    """Return a recommendation as people see it: in names, and in the sign of what they tell."""
    domain, sign, names = problem.domain, problem.sign, problem.domain.coordinate_names
    chosen = domain.chosen(found.x)
    items = found.items and {names[at]: (sign * loss, deviation) for at, (loss, deviation) in found.items.items()}
    return replace(
        found,
        loss=None if found.loss is None else sign * found.loss,
        items=items,
        direction=problem.direction,
        chosen=chosen,
        words=in_short(found.x) if domain.labels is None else in_words(chosen),
    )


def recommended(epoch: Epoch, problem: Problem) -> Recommendation:
    """Return the decision that an epoch would take home, before it is `shown`."""
    if not epoch.knows:
        domain = problem.domain
        x = np.asarray(domain.extreme_point(np.zeros(domain.dimension)) if problem.integral else domain.middle)
        return Recommendation(x, "nothing is known: no round has released anything yet", 0)
    if epoch.explorer.belief is not None:
        return from_belief(epoch.explorer.belief)
    learner: Any = epoch.learner
    placement = epoch.placement
    if not problem.linear:
        x = placement.original(learner.newest_point())
        return Recommendation(np.array(x), "the newest point, where the released gradients lead", learner.observed)
    # Where the epoch began is what earlier ones have learned, as a displacement: it counts as a sum of gradients.
    moved = learner.iterate + learner.center - placement.working.center
    why = "the vertex that is best for the released sum of gradients"
    return Recommendation(placement.vertex(-moved), why, learner.observed)


def from_belief(belief: Belief) -> Recommendation:
    """Return the decision that a belief would take home."""
    x, curved = np.array(belief.leader), belief.model == "radial"
    draws = max(10, min(_CURVED_DRAWS if curved else _DRAWS, _NUMBERS // belief.dimension))
    sure, fit_check, rounds = belief.certainty(x, draws), belief.fit_check(), belief.measurements.rounds
    why = _WHYS.get(belief.model, f"the best decision for the posterior mean of a {belief.model} model of the losses")
    why = _OF_PRIOR if belief.remembers_earlier and not rounds else why
    items = _of_items(belief, x) if belief.model == "items" else None
    return Recommendation(x, why, rounds, fit_check=fit_check, caution=fit_check.caution, items=items, **vars(sure))


def _of_items(belief: Any, x: Floats) -> dict[int, tuple[float, float]]:
    losses, deviations = belief.item_losses()
    return {item: (float(losses[item]), float(deviations[item])) for item in np.flatnonzero(x).tolist()}


def for_segment(belief: Belief, problem: Problem, shared: int = 0) -> Recommendation:
    """Return the decision to take home for one segment, which has its part in so many `shared` rounds."""
    found = shown(from_belief(belief), problem)
    return replace(found, why=f"{found.why}, of the segment and of those like it", rounds=found.rounds + shared)


def for_all(
    known: Mapping[Segment, tuple[Belief, int]],
    sizes: Mapping[Segment, int],
    hierarchy: HierarchicalPrior | ItemHierarchy,
    blank: Belief,
    problem: Problem,
) -> Recommendation:
    """Return the decision that is best for all segments together, by how many events they have; and that of each.

    Of each is `known` what is believed of it, and in how many shared rounds it has its part.
    """
    beliefs = [belief for belief, _ in known.values()]
    shares = np.array([float(sizes[one]) for one in known])
    shares = shares / shares.sum() if shares.sum() else np.full(len(shares), 1 / max(1, len(shares)))
    x, loss, deviation, drawn = np.array(blank.leader), None, None, list[Floats]()
    if beliefs:
        mean = np.einsum("s,sp->p", shares, np.array([one.coefficients() for one in beliefs]))
        x = np.array(blank.best_for(mean))
        loss = float(shares @ [one.expected_loss(x) for one in beliefs])
        # Together at most: they go hand in hand.
        deviation = float(shares @ [one.certainty(x, _FEW_DRAWS).deviation for one in beliefs])
    segments = dict[Segment, Recommendation]()
    for segment, (belief, shared) in known.items():
        one = for_segment(belief, problem, shared)
        drawn.append(_gaps(belief, x, one.x))
        gain = _gain(drawn[-1], bool(np.abs(one.x - x).max() > _NOTHING))
        segments[segment] = replace(one, events=sizes[segment], gain=gain)
    rounds = max((shared for _, shared in known.values()), default=0) + sum(one.measurements.rounds for one in beliefs)
    why = "the best decision for the mean of what is believed of all segments, by their events"
    differs = any(one.gain is not None and one.gain.differs for one in segments.values())
    return replace(
        shown(Recommendation(x, why, rounds, loss, deviation), problem),
        segments=segments,
        events=sum(sizes.values()),
        gain=_gain(np.einsum("s,sd->d", shares, np.array(drawn)) if drawn else np.zeros(1), differs),
        variance_shares=hierarchy.shares(),
    )


def _gaps(belief: Belief, one: Floats, other: Floats) -> Floats:
    """Draw by how much one decision loses more than another, around the mean, which is known exactly."""
    drawn = belief.gaps(one, other, _DRAWS)
    return np.asarray(drawn + (belief.expected_loss(one) - belief.expected_loss(other) - drawn.mean()))


def _gain(drawn: Floats, differs: bool) -> SegmentGain:
    low, high = np.quantile(drawn, [0.025, 0.975])
    return SegmentGain(float(drawn.mean()), float(low), float(high), differs)


def believed(belief: Belief | None, problem: Problem, plan: Plan) -> Posterior:
    """Return what is believed, as a public record, in the sign of what people tell; refuse where nothing is."""
    if belief is None:
        raise ValueError(
            f"there is no posterior: the plan explores by {plan.exploration!r}, which has no model of losses; "
            "exploration='posterior' has one"
        )
    found, domain = belief.posterior(), problem.domain
    found = found if problem.sign > 0 else found.turned()
    found = found.of_set(belief.known_names, as_stored(domain.labels))
    if found.covariance is None or found.model == "items":
        return found
    # Along directions that the set does not have, nothing is ever learned, and nothing depends on it.
    n, covariance = found.dimension, np.array(found.covariance)
    covariance[:, :n] = domain.tangent(covariance[:, :n])
    covariance[:n] = domain.tangent(covariance[:n].T).T
    deviations = np.sqrt(np.maximum(0.0, np.diag(covariance)[:n]))
    slopes = np.asarray(domain.tangent(found.slopes))
    return replace(found, slopes=slopes, deviations=deviations, covariance=covariance)
