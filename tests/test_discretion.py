"""No error shows a loss: not in its words, not in its arguments, not in the errors behind it."""

import decimal
import fractions
from functools import cache

import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from shown import shows
from sottovoce.cli.app import app
from sottovoce.errors import InvalidLoss
from sottovoce.learning.reports import ReportGrid
from sottovoce.privacy import LossGrid

MARK = "715517155"  # stands in every bad loss below


class Shown:
    def __repr__(self):
        return MARK


class Raising(Shown):
    """A number of the owner's own making, whose conversion quotes it."""

    def __init__(self, error):
        self._error = error

    def __float__(self):
        raise self._error(MARK)

    def __array__(self, dtype=None, copy=None):
        raise self._error(MARK)


class Own(Exception):
    pass


class Text(str):
    pass


class Wrong(Shown):
    def __float__(self):
        return MARK


BAD = {
    "text": MARK + "x",
    "a text of its own": Text(MARK + "y"),
    "bytes": MARK.encode() + b"\xff",
    "too large": int(MARK) * 10**400,
    "too large a fraction": fractions.Fraction(int(MARK) * 10**400),
    "a signalling NaN": decimal.Decimal(f"sNaN{MARK}"),
    "complex": complex(float(MARK), 1),
    "a list": [MARK + "x"],
    "a ragged list": [[1, MARK], 2],
    "a dictionary": {MARK: MARK},
    "an object": Shown(),
    "no float": Wrong(),
    "numpy's text": np.str_(MARK + "z"),
    "numpy's bytes": np.bytes_(MARK + "z"),
    "an array of objects": np.array([Shown()], dtype=object),
    "an array of texts": np.array([MARK + "x"]),
    **{f"raises {error.__name__}": Raising(error) for error in (ValueError, TypeError, KeyError, RuntimeError, Own)},
}


def refused(call):
    """Make a call that must fail, and return its error."""
    with pytest.raises((InvalidLoss, TypeError, ValueError)) as failed:
        call()
    return failed.value


GIVEN = {"domain": sv.domains.Ball(3), "horizon": 1000, "loss_range": (0.0, 1.0), "privacy": sv.PureDP(1.0)}
STUDY = {"name": "s", **GIVEN}


@cache
def asked(**options):
    """Return an optimizer that waits for three losses; all of what follows is refused, and leaves it as it is."""
    made = sv.PrivateBandit(**GIVEN | options)
    return made, made.ask(3).ids


@cache
def evaluated():
    """Return an evaluation that waits for losses of two people, and for others; it stays as it is, too."""
    one = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(1.0)).open(events=9)
    return one, one.assign(size=2)


def tell(first, count, losses=None, **report):
    made, ids = first
    made.tell(int(ids[0]) if count == 1 else ids[:count], losses, **report)


def array_of(bad):
    losses = np.empty(2, dtype=object)
    losses[:] = 0.5
    losses[1] = bad
    return losses


def minimise(loss, **options):
    sv.minimize(
        loss, sv.domains.Ball(2), horizon=50, loss_range=(0.0, 1.0), privacy=sv.NoPrivacy(), least_events=2, **options
    )


CHANNEL = sv.local.OneBitChannel((0.0, 1.0), epsilon=1.0)
CALLS = {
    "tell": lambda bad: tell(asked(), 1, bad),
    "tell a plan for the worst case": lambda bad: tell(asked(plan="worst-case"), 1, bad),
    "tell a block": lambda bad: tell(asked(), 3, [0.5, bad, 0.5]),
    "tell an array": lambda bad: tell(asked(), 2, array_of(bad)),
    "tell in place of a block": lambda bad: tell(asked(), 3, bad),
    "a raw loss under LocalDP": lambda bad: tell(asked(privacy=sv.LocalDP(1.0)), 1, bad),
    "report": lambda bad: tell(asked(privacy=sv.LocalDP(1.0)), 1, report=bad),
    "reports": lambda bad: tell(asked(privacy=sv.LocalDP(1.0)), 2, report=[1, bad]),
    "tell one of an evaluation": lambda bad: evaluated()[0].tell(bad, ids=evaluated()[1][0]),
    "tell the next of an evaluation": lambda bad: evaluated()[0].tell(bad),
    "tell a block of an evaluation": lambda bad: evaluated()[0].tell([0.5, bad], ids=evaluated()[1]),
    "minimize": lambda bad: minimise(lambda x: bad),
    "minimize in blocks": lambda bad: minimise(lambda x: [bad] * len(x), vectorized=True),
    "a loss grid": lambda bad: LossGrid(0.0, 1.0).quantise([bad]),
    "privatise": lambda bad: sv.local.privatise(bad, CHANNEL),
    "privatise by the channel": CHANNEL.privatise,
    "a grid of reports": lambda bad: ReportGrid(CHANNEL).quantise([bad]),
    "simulated reports": lambda bad: sv.local.simulate_reports([bad], CHANNEL, np.random.default_rng(0)),
}


@every("call", CALLS.values())
def test_no_error_shows_a_loss(call):
    for bad in BAD.values():
        assert not shows(refused(lambda bad=bad: call(bad)), MARK)


@pytest.mark.parametrize("report", [False, True], ids=["losses", "reports"])
def test_no_error_of_a_study_shows_a_loss(tmp_path, report):
    privacy, word, good = (sv.LocalDP(1.0), "report", 1) if report else (sv.PureDP(1.0), "losses", 0.5)
    with sv.Study.open(f"sqlite:///{tmp_path / 'study.db'}", **STUDY | {"privacy": privacy}) as study:
        one, block = study.ask().id, study.ask(2).ids
        for bad in BAD.values():
            assert not shows(refused(lambda bad=bad: study.tell(one, **{word: bad})), MARK)
            assert not shows(refused(lambda bad=bad: study.tell(block, **{word: [good, bad]})), MARK)
        assert study.status().told == 0


LINES = {
    "csv": f"id,loss\nID,{MARK}x\n",
    "csv, two": f"id,loss\nID,0.5\nID,{MARK}x\n",
    "csv without the column": f"id,{MARK}x\nID,{MARK}x\n",
    "csv with a zero byte": f"id,loss\nID,{MARK}\0\n",
    "csv without end": f'id,loss\nID,"{MARK}' + "x" * 200_000,
    "not utf-8": f"id,loss\nID,{MARK}".encode() + b"\xff\xfe\n",
    "json": f'{{"id": "ID", "loss": "{MARK}x"}}',
    "json, a list": f'{{"id": "ID", "loss": [{MARK}]}}',
    "json, large": f'{{"id": "ID", "loss": {MARK}{"0" * 400}}}',
    "json, larger": f'{{"id": "ID", "loss": {MARK}{"0" * 5000}}}',
    "json, cut off": f'{{"id": "ID", "loss": {MARK}',
    "json, deep": f'{{"id": "ID", "loss": {"[" * 100_000}{MARK}',
}


@pytest.fixture(scope="module")
def study_on_disk(tmp_path_factory):
    """The id of an action of a study that all commands below are refused by; it stays as it is."""
    folder = tmp_path_factory.mktemp("study")
    url = f"sqlite:///{folder / 'study.db'}"
    with pytest.MonkeyPatch.context() as patch, sv.Study.open(url, **STUDY) as study:
        patch.setenv("SOTTOVOCE_STORAGE", url)
        yield study.ask().id


def command(*arguments):
    return lambda: app(args=["study", "tell", "s", *arguments], prog_name="sottovoce", standalone_mode=False)


@pytest.mark.parametrize("kind", LINES)
def test_no_error_of_the_command_line_shows_a_line(study_on_disk, tmp_path, capfd, kind):
    text = LINES[kind]
    data = text if isinstance(text, bytes) else text.encode()
    (tmp_path / "losses").write_bytes(data.replace(b"ID", study_on_disk.encode()))
    problem = refused(command("--file", str(tmp_path / "losses")))
    printed = capfd.readouterr()
    assert MARK not in printed.out + printed.err
    assert shows(problem, MARK) is None


def test_no_error_of_the_command_line_shows_an_argument(study_on_disk, capfd):
    assert shows(refused(command(study_on_disk, MARK + "x")), MARK) is None
    assert shows(refused(command(study_on_disk, MARK + "x", "--report")), MARK) is None
    printed = capfd.readouterr()
    assert MARK not in printed.out + printed.err


def test_the_search_sees_what_is_hidden():
    """`from None` sets a flag for whoever prints; the error itself stays where it was."""

    def hide():
        try:
            float(MARK + "x")
        except ValueError:
            raise ValueError("nothing to see") from None

    assert shows(refused(hide), MARK)
