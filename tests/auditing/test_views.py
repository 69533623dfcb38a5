"""What is compared is everything public: a name that is in no list, or an address, is noticed here."""

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.auditing import shipped
from sottovoce.auditing._sources import Scripted
from sottovoce.auditing.playing.public_views import ACTS, look, plain
from sottovoce.auditing.playing.schedules import play
from sottovoce.auditing.playing.worlds import PAIRS, Neighbours
from sottovoce.service import audited

SHIPPED = {one.label: one for one in shipped()}
BELIEVING = SHIPPED["posterior, probe-sums"]


def made(folder):
    """One of each that has a list."""
    name = {"name": "views", "noise": sv.SimulatedNoise(0)}
    facts = {"loss_range": (0.0, 1.0), "privacy": sv.PureDP(1.0)}
    decided = {"domain": sv.domains.Simplex(3), "horizon": 100, **facts}
    yield sv.PrivateBandit(**decided, noise=sv.SimulatedNoise(0))
    yield sv.PrivateBandit(**decided, noise=sv.SimulatedNoise(0), losses="linear", segments=["a", "b"])
    with sv.Study.open(f"sqlite:///{folder / 'one.db'}", **name, **decided) as study:
        yield study
    segments = {"losses": "linear", "segments": ["a", "b"]}
    with sv.Study.open(f"sqlite:///{folder / 'two.db'}", **name, **decided, **segments) as study:
        yield study
    evaluations = sv.PrivateEvaluations(**facts)
    yield evaluations
    yield evaluations.open(3)
    with sv.PrivateEvaluations(storage=f"sqlite:///{folder / 'three.db'}", **name, **facts) as stored:
        yield stored


def test_every_public_name_is_read_but_for_calls(tmp_path):
    called = set()
    for one in made(tmp_path):
        public = {name for name in dir(one) if not name.startswith("_")}
        assert set(look(one)) >= public - {*ACTS}, type(one)
        called |= public & {*ACTS}
    assert called == set(ACTS)


def test_every_address_that_shows_a_study_is_looked_at(tmp_path):
    """Pages about the service itself, and what is posted, have nothing of a study."""
    app = audited.create_app(audited.Settings(f"sqlite:///{tmp_path / 'service.db'}", dev=True))
    reading = {one.path for one in app.routes if "GET" in (getattr(one, "methods", None) or ())}
    of_a_study = {path for path in reading if "/studies" in path}
    looked_at = {address.replace("/audit", "/{name:path}") for address in audited.ADDRESSES}
    # From the posterior, and from the page of the dashboard that has the same parts.
    follows = {f"/studies/{{name:path}}/{one}" for one in ("forecast", "report")}
    assert of_a_study <= looked_at | follows


def test_what_is_compared_is_compared_to_the_last_bit():
    assert plain(0.1 + 0.2) != plain(0.3)
    assert plain(np.array([0.1 + 0.2])) != plain(np.array([0.3]))
    assert plain(sv.PureDP(1.0)) != plain(sv.PureDP(1.0 + 1e-15))
    assert plain(float("nan")) == plain(float("nan"))


@pytest.mark.parametrize("pair", PAIRS)
def test_whether_a_loss_came_is_public(pair):
    """Such pairs are told apart by counts, and rightly; the others must not be, by anything."""
    seen = []
    for world in (0, 1):
        source = Scripted(0)
        run = play(BELIEVING(0, source), Neighbours((11,), (2,), pair), world, watched=True)
        seen.append(run.views[0])  # before the last round is closed, nothing of it is released
    assert (seen[0] == seen[1]) == (None not in PAIRS[pair]) or "forgotten" in pair
