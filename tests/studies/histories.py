"""Random honest histories of a study: late, lost and repeated losses, deaths, lives, deadlines, several at work."""

import contextlib
import random
import time

import networkx as nx
from small_studies import believing, curved, probing, sums

import sottovoce as sv
from sottovoce.errors import AlreadyTold, HorizonReached, RoundClosed, StudyBehind, UnknownAction
from sottovoce.rounds.round import PLACES

_PLAIN = {"horizon": 4000, "loss_range": (0.0, 1.0), "privacy": sv.PureDP(1.0)}
_BALL = _PLAIN | {"domain": sv.domains.Ball(2), "plan": "worst-case", "batch_size": 4}
_TREES = sv.domains.SpanningTrees(nx.complete_graph(3))
_PROBES = believing(horizon=4000, privacy=sv.PureDP(1.0), probes=2, least_events=2)
_CURVED = curved(horizon=4000, privacy=sv.PureDP(1.0), probes=3, least_events=2)
CASES = {
    "frames": _BALL,
    "frames in a box, all directions": _BALL | {"domain": sv.domains.Box([0.0] * 3, [1.0, 2.0, 3.0]), "directions": 3},
    "corners": _BALL
    | {"domain": sv.domains.Box([0.0] * 2, [1.0] * 2), "batch_size": 2, "exploration": "frames", "step": 9.0},
    "odd rounds": _BALL | {"batch_size": 5, "loss_range": (-2.0, 1.0)},
    "approximate": _BALL | {"privacy": sv.ApproxDP(0.5, 1e-6)},
    "no privacy": _BALL | {"privacy": sv.NoPrivacy()},
    "local": _BALL | {"privacy": sv.LocalDP(1.0)},
    "integral": _BALL | {"domain": sv.domains.Hypersimplex(4, 2), "integral": True},
    "unknown horizon": _BALL | {"horizon": None, "batch_size": 16},
    "a short horizon": _BALL | {"horizon": 61},
    "fresh noise": _BALL | {"exploration": "sphere", "mechanism": "fresh"},
    "fresh noise, a lag": _BALL | {"exploration": "sphere", "mechanism": "fresh", "delay": 2},
    "designs": probing(privacy=sv.PureDP(1.0)),
    "designs, every loss": sums(privacy=sv.PureDP(1.0), horizon=4000),
    "designs, unknown horizon": probing(privacy=sv.PureDP(1.0), horizon=None, probe_events=4),
    "designs on a ball": _PLAIN
    | {"domain": sv.domains.Ball(3), "losses": "linear", "exploration": "designs", "rate": 0.25, "probe_events": 2},
    "an oracle": _BALL | {"domain": _TREES, "batch_size": 6},
    "an oracle, unknown horizon": _BALL | {"domain": _TREES, "batch_size": 24, "horizon": None},
    "probes": _PROBES,
    "probes, longer rounds": believing(horizon=4000, privacy=sv.PureDP(1.0)),
    "probes, no privacy": _PROBES | {"privacy": sv.NoPrivacy()},
    "probes, approximate": _PROBES | {"privacy": sv.ApproxDP(0.5, 1e-6), "loss_range": (-2.0, 1.0)},
    "probes, local": _PROBES | {"privacy": sv.LocalDP(1.0)},
    "probes, unknown horizon": believing(horizon=None, privacy=sv.PureDP(1.0)),
    "probes, a short horizon": _PROBES | {"horizon": 61},
    "probes of an oracle": _PROBES | {"domain": _TREES},
    "probes on a ball": _CURVED,
    "probes on a ball, no privacy": _CURVED | {"privacy": sv.NoPrivacy()},
    "probes on a ball, unknown horizon": _CURVED | {"horizon": None},
    "segments": _PROBES | {"segments": ["phone", "desktop"]},
    "segments, unknown horizon": _PROBES | {"segments": ["phone", "desktop"], "horizon": None, "least_events": 8},
    "segments on a ball": _CURVED | {"segments": ["phone", "desktop", "tablet"]},
    "probes on a simplex": _CURVED | {"domain": sv.domains.Simplex(4)},
}
_SEGMENTS = ("phone", "desktop")
TURNS = {"ask": 50, "pay": 40, "move": 2, "wait": 1, "give_up": 2, "die": 1.5, "end_a_life": 1}  # and how often
GONE = AlreadyTold, RoundClosed, UnknownAction  # given up by a deadline, or a life


class Death(BaseException):
    """A process ends here."""


class History:
    """One study, what its callers still owe it, and the dice that say what happens next.

    Parameters
    ----------
    url
        Where it lives.
    case
        A name in `CASES`.
    seed
        Of everything but real noise, which half of the histories have.
    """

    def __init__(self, url, case, seed):
        self.url, self.rng = url, random.Random(f"{case} {seed}")
        chance = self.rng.choice
        self.delay, self.lost, self.real = chance((0, 2, 20)), chance((0.0, 0.0, 0.05)), chance((True, False))
        self.loss = chance((lambda: float(self.rng.random() < 0.3), self.rng.random, lambda: 0.25))
        self.size = chance((3, 12, 40)) if CASES[case]["horizon"] is not None else 60
        self.now, self.turn = 1e9, 0
        self.owed = []  # (due, id)
        waits = {"deadline": chance((None, None, 50.0)), "patience": chance(("auto", None, 0, 30, 200))}
        self.studies = [self._open(seed=self.rng.randrange(2**32), **waits, **CASES[case])]
        if chance((True, False)):
            self.studies.append(self._open())

    def go_on(self, turns):
        """Let some time pass."""
        with _clock(lambda: self.now):
            for _ in range(turns):
                self.turn += 1
                self.now += self.rng.choice((0.1, 5.0))
                (what,) = self.rng.choices(list(TURNS), TURNS.values())
                getattr(self, f"_{what}")(self.rng.randrange(len(self.studies)))
        return self

    def verify(self):
        """Return what `verify` finds."""
        return self.rng.choice(self.studies).verify()

    def close(self):
        """Let go of the file."""
        for study in self.studies:
            study.close()

    def _open(self, **arguments):
        noise = None if self.real else sv.SimulatedNoise(self.rng.randrange(2**32))
        return sv.Study.open(self.url, name="study", repeat="ignore", noise=noise, **arguments)

    def _ask(self, which):
        study, size = self.studies[which], self.rng.randint(1, self.size)
        with contextlib.suppress(HorizonReached):
            if self.rng.random() < 0.2:
                most = self.rng.choice((None, 3))
                asked = study.ask_round(most, segment=None if study.segments is None else self.rng.choice(_SEGMENTS))
            else:
                asked = study.ask(size, segment=None if study.segments is None else self.rng.choices(_SEGMENTS, k=size))
            kept = [one for one in asked.ids.tolist() if self.rng.random() >= self.lost]
            self.owed += [(self.turn + self.rng.randint(0, self.delay), one) for one in kept]

    def _pay(self, which):
        """Tell what is due, out of order; forget some of it."""
        study = self.studies[which]
        self.rng.shuffle(self.owed)
        due = [one for when, one in self.owed if when <= self.turn]
        self.owed = [(when, one) for when, one in self.owed if when > self.turn]
        some = due[: self.rng.randint(1, len(due))] if due and self.rng.random() < 0.15 else []
        with contextlib.suppress(*GONE):
            study.forget(some)
        for mine in filter(None, (due[len(some) :: 2], due[len(some) + 1 :: 2])):
            losses = [self.loss() for _ in mine]
            with contextlib.suppress(*GONE):
                if study._local:
                    study.tell(mine, report=[sv.local.privatise(one, study.channel) for one in losses])
                else:
                    study.tell(mine, losses)

    def _move(self, which):
        """Close a study, and open it again."""
        self.studies[which].close()
        self.studies[which] = self._open()

    def _wait(self, which):
        self.now += 60.0
        self.studies[which].status()

    def _give_up(self, which):
        """Forget all that nobody will ever tell."""
        owed = {one for _, one in self.owed}
        with contextlib.suppress(*GONE):  # another study may have begun a life meanwhile
            waiting = self.studies[which].outstanding().ids.tolist()
            self.studies[which].forget([one for one in waiting if one not in owed])

    def _die(self, which):
        """End a process at some statement of whatever it does next."""
        study, left = self.studies[which], [self.rng.randrange(40)]
        execute = study._base._execute

        def count(*arguments):
            left[0] -= 1
            if left[0] < 0:
                raise Death
            return execute(*arguments)

        study._base._execute = count
        with contextlib.suppress(Death):
            for _ in range(6):
                self._ask(which)
                self._pay(which)
        with contextlib.suppress(Death):  # before it could give back what it had in hand
            study.close()
        self.studies[which] = self._open()

    def _end_a_life(self, which):
        if self.rng.random() < 0.5:
            self.close()
            self.studies[:] = [self._open(restored=True), *(self._open() for _ in self.studies[1:])]
        else:  # an id that the storage does not know yet: it must have been put back
            study = self.studies[which]
            with contextlib.suppress(StudyBehind):
                study.forget(study._texts.text(study.status().incarnation << PLACES | 10**9))


@contextlib.contextmanager
def _clock(now):
    """Let the host's clock show what a history says."""
    true, time.time = time.time, now
    try:
        yield
    finally:
        time.time = true


def wander(folder, case, seed, looks=(15, 45)):
    """Return what `verify` found of a history, at several moments."""
    history = History(f"sqlite:///{folder / f'{seed}.db'}", case, seed)
    try:
        return [history.go_on(turns).verify() for turns in looks]
    finally:
        history.close()
