"""One interface in three places: what an optimizer in memory can do, a study and the client of a service can do alike.

The first test goes through the public names and their signatures; the second plays one seeded history everywhere, with
and without segments, and compares all that is answered, refusals included.
"""

import contextlib
import inspect
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest

import sottovoce as sv
from in_thread import answering
from sottovoce.client import RemoteStudy
from sottovoce.rounds.book import Recorded
from sottovoce.service.app import create_app
from sottovoce.service.settings import Settings

DRINKS = ["tea", "coffee", "cocoa", "milk", "water"]
SEGMENTS = ["phone", "desktop", "tablet"]
HORIZON = 400

# ---------------------------------------------------------------------- names

ELSEWHERE = {  # public names that a form does not have, and why
    sv.Study: {},
    RemoteStudy: {"seed": "known to who created it", "keyed_hash": "the key is the service's"},
}
ADDED = {  # arguments that a form takes besides
    **{(form, "change"): {"patience", "deadline"} for form in (sv.Study, RemoteStudy)}
}
OF_STORAGES = {  # what a study does with its storage, and whoever only calls a service does not
    *("open", "created", "verify", "statement", "history", "tell_each")
}


def options(segments=None):
    return {
        "horizon": HORIZON,
        "loss_range": (0.0, 1.0),
        "privacy": sv.PureDP(5.0),
        "losses": "linear",
        "integral": True,
        "patience": 50,
        "probes": 3,
        "least_events": 4,
        "seed": 4,
        "segments": segments,
    }


def domain():
    return sv.domains.Hypersimplex(DRINKS, 2)


def in_memory(segments=None):
    return sv.PrivateBandit(domain(), noise=sv.SimulatedNoise(7), **options(segments))


def public(names):
    return {name for name in names if not name.startswith("_")}


NAMES = sorted(public(dir(in_memory())))


@pytest.fixture
def study(sqlite_url):
    with sv.Study.open(sqlite_url, name="spring", domain=domain(), noise=sv.SimulatedNoise(7), **options()) as found:
        yield found


@pytest.mark.parametrize("form", [sv.Study, RemoteStudy])
def test_what_is_public_of_an_optimizer_is_public_of_every_form(form, study):
    there = set(dir(study)) if form is sv.Study else set(dir(form))
    assert set(NAMES) - there == set(ELSEWHERE[form]) & set(NAMES)
    for name in sorted(there & set(NAMES)):
        mine, theirs = getattr(sv.PrivateBandit, name, None), getattr(form, name, None)
        if not inspect.isfunction(mine):
            assert not inspect.isfunction(theirs), name
            continue
        wanted, found = (inspect.signature(one).parameters.values() for one in (mine, theirs))
        more = ADDED.get((form, name), set())
        assert [(one.name, one.kind, one.default) for one in found if one.name not in more] == [
            (one.name, one.kind, one.default) for one in wanted
        ], name


def test_what_is_public_of_a_study_is_public_of_the_client(study):
    assert public(dir(study)) - set(dir(RemoteStudy)) - set(ELSEWHERE[RemoteStudy]) <= OF_STORAGES | {"name"}


# ---------------------------------------------------------------------- one history


class Play:
    """Plays the history on one form; `seen` has what it answered, step by step."""

    def __init__(self, optimizer, segments):
        self.optimizer, self.segments, self.seen, self.ids = optimizer, segments, [], {}
        self.remote = isinstance(optimizer, RemoteStudy)

    def whom(self, *places):
        if self.segments is None:
            return {}
        named = [self.segments[one % len(self.segments)] for one in places]
        return {"segment": named if len(named) > 1 else named[0]}

    def note(self, what, function):
        try:
            found = function()
        except Exception as refused:
            found = type(refused)
        self.seen.append((what, found if isinstance(found, type) else plain(found)))

    def numbers(self, ids):
        """Return ids as the order in which they came: forms write them differently."""
        return [self.ids.setdefault(one, len(self.ids)) for one in np.ravel(ids).tolist()]

    def asked(self, what, actions):
        x = np.atleast_2d(actions.x)
        self.seen.append((what, [self.numbers(actions.id if x is not actions.x else actions.ids), x.tolist()]))
        self.seen.append((f"{what}: names", [actions.chosen, np.ravel(actions.wants_loss).tolist()]))
        return actions, x @ np.linspace(0.1, 0.4, x.shape[1])

    def one_by_one(self):
        for place in range(6):
            action, loss = self.asked("ask", self.optimizer.ask(**self.whom(place)))
            self.optimizer.tell(action.id, float(loss[0]))

    def blocks(self):
        actions, losses = self.asked("block", self.optimizer.ask(30, **self.whom(*range(30))))
        self.optimizer.tell(actions.ids[::-1], losses[::-1])
        actions, losses = self.asked("block for one", self.optimizer.ask(10, **self.whom(1)))
        self.optimizer.tell(actions.ids, losses)

    def rounds(self):
        for most in (None, 3):
            actions, losses = self.asked("round", self.optimizer.ask_round(most, **self.whom(2)))
            self.optimizer.tell(actions.ids, losses)
        if self.segments is not None:
            actions, losses = self.asked("round of several", self.optimizer.ask_round(**self.whom(*range(25))))
            self.optimizer.tell(actions.ids, losses)

    def gaps(self):
        """Forget some, leave some to patience, and tell losses that come too late."""
        actions, losses = self.asked("gaps", self.optimizer.ask(12, **self.whom(0)))
        self.note("forgotten", lambda: self.optimizer.forget(actions.ids[:3]))
        self.note("forgotten before", lambda: self.optimizer.forget(actions.ids[:3]))
        self.note("too late", lambda: self.tell(actions.ids[:4], losses[:4]))
        self.note("late ones dropped", lambda: self.tell(actions.ids[:4], losses[:4], late="drop"))
        self.optimizer.tell(actions.ids[4:8], losses[4:8])
        if self.remote:
            assert self.optimizer.tell(actions.ids[4], losses[4]) == Recorded(0, 1, 0)
            self.seen.append(("told before", sv.errors.AlreadyTold))  # whoever repeats a call is not refused over HTTP
        else:
            self.note("told before", lambda: self.tell(actions.ids[4], losses[4]))
        self.note("outstanding", self.outstanding)
        self.note("the oldest", lambda: self.outstanding(2))

    def tell(self, *arguments, **options):
        self.optimizer.tell(*arguments, **options)  # what forms return is their own

    def outstanding(self, limit=None):
        found = self.optimizer.outstanding(limit)
        return [type(found).__name__, self.numbers(found.ids), found.rounds, found.ages, found.waiting, len(found)]

    def looks(self):
        optimizer, each = self.optimizer, [{}, self.whom(0), self.whom(2)]
        for name in ("asked", "horizon", "patience", "deadline", "remaining", "round", "segments", "sizes", "plan"):
            self.note(name, lambda name=name: getattr(optimizer, name))
        for name in ("point", "channel"):
            self.note(name, lambda name=name: getattr(optimizer, name))
        self.note("privacy", lambda: replace(optimizer.privacy, also_not_covered=()))
        self.note("domain", lambda: [repr(optimizer.domain), optimizer.domain.labels])
        for whom in each:
            self.note(f"recommend {whom}", lambda whom=whom: optimizer.recommend(**whom))
            self.note(f"posterior {whom}", lambda whom=whom: optimizer.posterior(**whom).to_record())
            self.note(f"fit check {whom}", lambda whom=whom: optimizer.fit_check(**whom))
            self.note(f"enough {whom}", lambda whom=whom: optimizer.enough(within=0.1, **whom))

    def mistakes(self):
        optimizer, whom = self.optimizer, self.whom(0)
        actions = optimizer.ask(2, **whom)
        stranger = 2**45 if isinstance(actions.ids.tolist()[0], int) else "1.0.0.nobody"
        wrong = {
            "no size": lambda: optimizer.ask(0, **whom),
            "half a size": lambda: optimizer.ask(1.5, **whom),
            "too many": lambda: optimizer.ask(HORIZON, **whom),
            "most": lambda: optimizer.ask_round(0, **whom),
            "nobody": lambda: optimizer.ask(segment="fridge"),
            "nobody's round": lambda: optimizer.ask_round(segment="fridge"),
            "empty": lambda: optimizer.ask(segment=[]),
            "not as many": lambda: optimizer.ask(3, segment=["phone", "desktop"]),
            "nobody's decision": lambda: optimizer.recommend(segment="fridge"),
            "nobody's posterior": lambda: optimizer.posterior(segment="fridge"),
            "nobody's fit check": lambda: optimizer.fit_check(segment="fridge"),
            "limit": lambda: optimizer.outstanding(-1),
            "not finite": lambda: self.tell(actions.ids, [0.5, np.nan]),
            "shape": lambda: self.tell(actions.ids, [0.5]),
            "text": lambda: self.tell(actions.ids, ["high", "low"]),
            "stranger": lambda: self.tell(stranger, 0.5),
            "forgotten stranger": lambda: optimizer.forget(stranger),
            "report": lambda: self.tell(actions.ids, report=[1, 1]),
            "neither": lambda: self.tell(actions.ids),
            "late": lambda: self.tell(actions.ids, [0.5, 0.5], late="maybe"),
            "no ids": lambda: optimizer.forget([]),
            **({} if self.segments is None else {"unsaid": optimizer.ask, "unsaid round": optimizer.ask_round}),
        }
        for what, call in wrong.items():
            self.note(what, call)
        self.tell(actions.ids, [0.25, 0.75])

    def changes(self):
        """Change the set, twice in case an answer was lost; the round that has begun goes on as it was."""
        others = sv.domains.Hypersimplex([*DRINKS[2:], "juice"], 2)
        self.note("without names", lambda: self.optimizer.change(domain=sv.domains.Hypersimplex(4, 2)))
        self.note("changed", lambda: self.optimizer.change(domain=others))
        self.note("changed again", lambda: self.optimizer.change(domain=others))
        self.note("best by then", lambda: self.optimizer.recommend(**self.whom(0)))
        for place in range(3 * len(self.segments or [None])):
            actions, losses = self.asked("round", self.optimizer.ask_round(**self.whom(place)))
            self.optimizer.tell(actions.ids, losses)

    def to_the_end(self):
        while left := self.optimizer.remaining:
            actions, losses = self.asked("on", self.optimizer.ask(min(left, 70), **self.whom(left)))
            self.optimizer.tell(actions.ids, losses)
        self.note("the end", lambda: self.optimizer.ask(**self.whom(0)))
        self.note("the last round", lambda: self.optimizer.ask_round(**self.whom(0)))

    def all(self):
        for part in (self.looks, self.one_by_one, self.blocks, self.rounds, self.gaps, self.mistakes):
            part()
        for part in (self.looks, self.changes, self.looks, self.to_the_end, self.looks):
            part()
        return self.seen


def plain(found):
    """Return values as they can be compared, each with its type."""
    if isinstance(found, np.ndarray | np.generic):
        return found.tolist()
    if isinstance(found, dict):
        return {name: plain(one) for name, one in found.items()}
    if isinstance(found, tuple) and hasattr(found, "_fields"):
        return [type(found).__name__, *map(plain, found)]
    if isinstance(found, list | tuple):
        return [plain(one) for one in found]
    if is_dataclass(found):
        parts = {one.name: plain(getattr(found, one.name)) for one in fields(found)}
        return [type(found).__name__, parts]
    return repr(found) if isinstance(found, sv.Segments) else found


@contextlib.contextmanager
def stored(segments, url):
    made = options(segments)
    with sv.Study.open(url, name="spring", domain=domain(), noise=sv.SimulatedNoise(7), **made) as study:
        yield study


@contextlib.contextmanager
def served(segments, url):
    with stored(segments, url):
        pass  # it is there
    app = create_app(Settings(storage=url, dev=True, simulated=sv.SimulatedNoise(7)))
    with answering(app) as where, sv.connect(where, study="spring", raw_losses=True) as remote:
        yield remote


FORMS = [(stored, "sqlite_url"), (stored, "postgres_url"), (served, "sqlite_url")]  # a client sees no storage


@pytest.fixture(params=FORMS, ids=["study-sqlite", "study-postgresql", "client"])
def opens(request):
    """`with opens(segments)` is an optimizer of one of the forms."""
    form, url = request.param
    return lambda segments: form(segments, request.getfixturevalue(url))


@pytest.mark.parametrize("segments", [None, SEGMENTS], ids=["one for all", "segments"])
def test_one_history_is_answered_alike_everywhere(opens, segments):
    with opens(segments) as optimizer:
        compare(Play(in_memory(segments), segments).all(), Play(optimizer, segments).all())


def compare(expected, found):
    for (what, mine), (_, theirs) in zip(expected, found, strict=True):
        if isinstance(mine, type):
            assert isinstance(theirs, type), f"{what} is refused by the one only"
            assert issubclass(theirs, mine), what
        else:
            assert theirs == mine, what


def counted(optimizer):
    """Play a history of people who are counted; return what was answered."""
    play = Play(optimizer, None)
    play.asked("one", optimizer.ask(person="ada"))
    for people in (["ada", "grace"], ["grace"] * 3 + ["edith"] * 30):
        actions, losses = play.asked("block", optimizer.ask(person=people))
        optimizer.tell(actions.ids, losses)
        actions, losses = play.asked("round", optimizer.ask_round(person=people))
        optimizer.tell(actions.ids, losses)
    play.note("unsaid", optimizer.ask)
    play.note("unsaid round", optimizer.ask_round)
    play.note("one for several", lambda: optimizer.ask(2, person="ada"))
    play.note("not as many", lambda: optimizer.ask(2, person=["ada"]))
    play.note("one for a round", lambda: optimizer.ask_round(person="ada"))
    play.note("nobody", lambda: optimizer.ask(person=[]))
    play.looks()
    play.note("erased", optimizer.erase_people)
    play.note("nobody is asked", lambda: optimizer.ask(person="ada"))
    return play.seen


def test_people_are_counted_alike_everywhere(opens):
    with opens(None) as optimizer:
        compare(counted(in_memory()), counted(optimizer))
