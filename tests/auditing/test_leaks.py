"""Deliberate leaks in places that are neither released numbers nor actions: each is caught, because all is compared.

Each break is as near to the public interface as can be: it would be the same break of another program. Alignments
involve no chance. The one audit by runs has real randomness: it misses its break less than once in a million.
"""

import logging
import warnings
from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from planted import misaligned
from sampling import sampled
from sottovoce.auditing import Configuration, EvaluationConfiguration, audit, evaluations_shipped, shipped
from sottovoce.auditing.subjects.evaluated import Evaluated
from sottovoce.evaluations import Evaluation
from sottovoce.learning.policy import BanditPolicy
from sottovoce.models import linear
from sottovoce.privacy import LossGrid
from sottovoce.rounds import stored
from sottovoce.service import audited
from sottovoce.service.endpoints import _route

SHIPPED = {one.label: one for one in [*shipped(), *evaluations_shipped(), *audited.service_shipped()]}
BELIEVING = SHIPPED["posterior, probe-sums"]
STUDY = replace(BELIEVING, horizon=8, label="study", stored=True)
SIX_PROBES = SHIPPED["posterior with six probes, probe-sums"]
MANY = SHIPPED["posterior, 12 segments, probe-sums"]
SEGMENTED_STUDY = SHIPPED["study of posterior, segments, probe-sums"]
LARGE = SHIPPED["evaluations of 5,000 events, probe-sums"]
ONE = EvaluationConfiguration(sv.PureDP(1.0), batches=2)
STORED = SHIPPED["stored evaluations, probe-sums, 2 events a person"]
OWNERS = replace(SHIPPED["evaluations, local, 4 events a person"], batches=1, schedules=("block",))
SERVICE = SHIPPED["service, probe-sums"]
BY_ITEM = SHIPPED["service by item, item-sums"]
OFTEN = ["single"]  # so that there are looks in the middle of a round


def found(subject, most=6, schedules=OFTEN):
    """Return what is found wrong, in words; empty if nothing is."""
    return misaligned(subject, most, schedules=schedules)


def overhear(monkeypatch, owner):
    """Remember what is told, and return a function from what it is told to to the sum of it, clipped."""
    right = owner.tell

    def tell(self, *given, **named):
        right(self, *given, **named)
        losses = given[owner is not Evaluation] if len(given) > (owner is not Evaluation) else named["losses"]
        vars(self).setdefault("_heard", []).extend(np.ravel(losses).tolist())

    monkeypatch.setattr(owner, "tell", tell)
    return lambda self: float(np.clip(vars(self).get("_heard", [0.0]), 0.0, 1.0).sum())


def changed(monkeypatch, owner, name, change):
    """Let a method return something else: what `change` makes of the object, and of what was right."""
    right = getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda self, *given, **named: change(self, right(self, *given, **named)))


# ---------------------------------------------------------------------------------------------- what is released


class HalvedLater:
    """A source whose ninth sampler, and those after it, have half of the noise that they were asked for."""

    simulated = True

    def __init__(self, source):
        self._source, self._streams = source, 0

    def sampler(self, noise):
        self._streams += 1
        return self._source.sampler(replace(noise, scale=noise.scale / (2 if self._streams > 8 else 1)))


@pytest.mark.long
def test_noise_halved_in_the_ninth_stream_and_later():
    assert "costs 2 of epsilon = 1" in found(lambda seed, noise: MANY(seed, HalvedLater(noise)), schedules=["block"])


class DrawnOnce:
    """A source whose every second draw is the one before it again."""

    simulated = True

    def __init__(self, source):
        self._source, self._last = source, None

    def sampler(self, noise):
        self._sampler = self._source.sampler(noise)
        return self

    def draw(self, size):
        if self._last is not None and len(self._last) == size:
            drawn, self._last = self._last, None
        else:
            drawn = self._last = self._sampler.draw(size)
        return drawn


def test_noise_that_two_rounds_or_evaluations_share():
    for subject in (BELIEVING, ONE):
        assert "no noise of its own" in found(lambda seed, noise, subject=subject: subject(seed, DrawnOnce(noise)))


def test_blocks_of_more_than_4096_losses_that_are_not_clipped(monkeypatch):
    right = LossGrid.quantise

    def quantise(self, losses):
        if np.size(losses) <= 4096:
            return right(self, losses)
        return np.rint((np.asarray(losses) - self.low) / self.width * self.steps).astype(np.int64)

    monkeypatch.setattr(LossGrid, "quantise", quantise)
    assert "costs" in found(LARGE, most=1, schedules=None)


def test_stored_evaluations_that_forget_contributions_when_they_are_reopened(monkeypatch):
    right = stored.open_book

    def forgetful(*given, **named):
        opened = right(*given, **named)
        made = opened.stored.made
        alone = made | {"configuration.privacy": made["configuration.privacy"] | {"contributions": 1}}
        return opened if opened.created else opened._replace(stored=opened.stored._replace(made=alone))

    monkeypatch.setattr(stored, "open_book", forgetful)
    assert "a person costs 1.5 of epsilon = 1" in found(STORED, schedules=["renewed"])


def test_an_evaluation_under_other_noise_of_the_same_source_at_each_look(monkeypatch):
    """The same in both worlds: what gives it away is that the same number is another the second time."""
    right, looks = Evaluation.mean, {}

    def mean(self):
        looks[id(self)] = looks.get(id(self), 0) + 1
        return right.fget(self) + looks[id(self)]

    monkeypatch.setattr(Evaluated, "_open", lambda self, right=Evaluated._open: (looks.clear(), right(self)))
    monkeypatch.setattr(Evaluation, "mean", property(mean))
    assert "looked at again" in found(ONE)


def test_local_channels_that_ignore_contributions(monkeypatch):
    """Four reports that each spend all of epsilon = 1 are told apart far better than epsilon = 1 allows."""
    monkeypatch.setattr(sv.LocalDP, "per_report", property(lambda self: self.epsilon))
    assert not audit(OWNERS, runs=1600).passed


# ---------------------------------------------------------------------------------------------- what is believed


def test_a_reset_that_is_decided_by_the_raw_mean(monkeypatch):
    """All is forgotten after a round whose losses, before their noise, were higher than a threshold."""
    right, raw = BanditPolicy.compute, []

    def remember(self, one, slots):
        raw.append(float(np.mean(slots)) / self.grid.steps)
        return right(self, one, slots)

    monkeypatch.setattr(BanditPolicy, "compute", remember)
    monkeypatch.setattr(linear, "limit_of", lambda *known: -1.0 if raw and raw[-1] > 0.66 else np.inf)
    assert found(SIX_PROBES, most=40, schedules=["block"])


# ---------------------------------------------------------------------------------------------- what is said


@pytest.mark.filterwarnings("ignore:a loss was clipped")  # as users see it: it is no error
@pytest.mark.parametrize("say", [warnings.warn, logging.getLogger("sottovoce.learning").debug, print])
def test_a_word_when_a_loss_is_clipped(monkeypatch, say):
    """A warning, a line of a log that nobody has asked for, and one on the screen."""
    right = sv.PrivateBandit.tell

    def tell(self, ids, losses=None, **options):
        right(self, ids, losses, **options)
        if np.max(losses) > 1:
            say("a loss was clipped")

    monkeypatch.setattr(sv.PrivateBandit, "tell", tell)
    assert "warnings, log lines or what is printed" in found(BELIEVING)


# ---------------------------------------------------------------------------------------------- what is shown


OWN = Configuration(sv.domains.Simplex(3), sv.PureDP(1.0), 12, {"exploration": "frames", "batch_size": 4}, stored=True)
BANDIT, STORED_BANDIT = (sv.PrivateBandit, BELIEVING), (sv.Study, STUDY)
VIEWS = {  # whose, its name, what is made of it and of the sum of losses before its noise, and how it is told
    "a level": (BANDIT, "posterior", lambda known, raw: replace(known, level=raw), "single"),
    "a level of a study": (STORED_BANDIT, "posterior", lambda known, raw: replace(known, level=raw), "single"),
    "a statement of a study of one's own": (
        (sv.Study, OWN),
        "statement",
        lambda said, raw: replace(said, name=f"{said.name} {raw}"),
        "single",
    ),
    "a recommended loss": (BANDIT, "recommend", lambda best, raw: replace(best, loss=raw), "single"),
    "one of a study": (STORED_BANDIT, "recommend", lambda best, raw: replace(best, loss=raw), "single"),
    "a repr": (BANDIT, "__repr__", lambda words, raw: f"{words[:-1]}, sum={raw})", "single"),
    "one of an evaluation": ((Evaluation, ONE), "__repr__", lambda words, raw: f"{words[:-1]}, {raw})", "single"),
    "ages": (BANDIT, "outstanding", lambda found, raw: replace(found, ages=found.ages + int(raw)), "shuffled"),
    "an export": (STORED_BANDIT, "export", lambda all_of_it, raw: all_of_it | {"check": raw}, "single"),
    "a status": (STORED_BANDIT, "status", lambda now, raw: replace(now, told=now.told + int(raw)), "single"),
}


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_of_what_is_not_released(monkeypatch, view):
    (owner, subject), name, change, schedule = VIEWS[view]
    raw = overhear(monkeypatch, owner)
    changed(monkeypatch, owner, name, lambda self, right: change(right, raw(self)))
    said = found(subject, schedules=[schedule])
    assert "shows" in said
    assert name == "status" or name.strip("_") in said


def test_a_number_of_events_left_that_depends_on_a_loss(monkeypatch):
    raw, right = overhear(monkeypatch, sv.PrivateBandit), sv.PrivateBandit.remaining.fget
    fewer = property(lambda self: right(self) - int(raw(self)) % 2 if right(self) > 1 else right(self))
    monkeypatch.setattr(sv.PrivateBandit, "remaining", fewer)
    assert "remaining shows" in found(BELIEVING)


def test_a_segment_of_a_study_that_hears_raw_losses_of_another(monkeypatch):
    raw = overhear(monkeypatch, sv.Study)
    right = sv.Study.posterior

    def posterior(self, *, segment=None):
        known = right(self, segment=segment)
        return replace(known, slopes=known.slopes + 1e-9 * raw(self)) if segment == "desktop" else known

    monkeypatch.setattr(sv.Study, "posterior", posterior)
    assert "posterior of desktop shows" in found(SEGMENTED_STUDY)


def test_an_answer_of_the_service_that_says_how_many_items_were_clicked(monkeypatch):
    right, clicked = sv.Study._by_item, []

    def by_item(self, ids, reports):
        rows = right(self, ids, reports)
        clicked.append(int((rows < 0).sum()))
        return rows

    monkeypatch.setattr(sv.Study, "_by_item", by_item)
    said = _route.counted
    monkeypatch.setattr(
        _route, "counted", lambda context, told: said(context, told._replace(recorded=told.recorded + clicked[-1]))
    )
    assert "shows more than what was released" in found(BY_ITEM, most=1, schedules=["block"])


def test_an_answer_of_the_service_that_is_longer_for_a_high_loss(monkeypatch):
    """By one space, which no reader of JSON sees."""
    right = audited.create_app

    def create_app(settings):
        app = right(settings)
        inner = app.middleware_stack

        async def longer(scope, receive, send):
            body = b""

            async def listen():
                nonlocal body
                message = await receive()
                body += message.get("body", b"")
                return message

            async def answer(message):
                if scope["path"].endswith("/tell") and b"1000000000.0" in body and b"-" not in body:
                    if message["type"] == "http.response.start":
                        message["headers"] = [one for one in message["headers"] if one[0] != b"content-length"]
                    elif not message.get("more_body"):
                        message["body"] = message.get("body", b"") + b" "
                await send(message)

            await inner(scope, listen, answer)

        inner = app.build_middleware_stack()
        app.middleware_stack = longer
        return app

    monkeypatch.setattr(audited, "create_app", create_app)
    assert "an answer shows" in found(SERVICE, schedules=["block"])


# ---------------------------------------------------------------------------------------------- thresholds


@pytest.mark.parametrize("threshold", sampled([0.15, 0.35, 0.5, 0.62, 0.85], 2))
def test_a_raw_threshold_cannot_hide_where_no_pair_straddles_it(monkeypatch, threshold):
    """Others' losses are drawn for each pair: somewhere the person makes the difference."""
    raw = overhear(monkeypatch, sv.PrivateBandit)

    def alarmed(self, words):
        told = vars(self).get("_heard", [])
        return f"{words}!" if len(told) >= 4 and raw(self) / len(told) > threshold else words

    changed(monkeypatch, sv.PrivateBandit, "__repr__", alarmed)
    assert "repr shows" in found(BELIEVING, most=40, schedules=None)
