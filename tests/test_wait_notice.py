"""What takes long is said at a terminal, by whoever watches it."""

import io
import threading

import pytest

import sottovoce as sv
from sottovoce import _wait_notice


class Terminal(io.StringIO):
    """A screen, which tells when something is written to it."""

    def __init__(self):
        super().__init__()
        self.written = threading.Event()

    def isatty(self):
        return True

    def write(self, text):
        self.written.set()
        return super().write(text)


def sit_down(monkeypatch):
    """Return the terminal that takes the place of standard error; not in a fixture, since pytest puts its own back."""
    terminal = Terminal()
    monkeypatch.setattr(_wait_notice.sys, "stderr", terminal)
    monkeypatch.setattr(_wait_notice, "_SOON", 0.01)
    return terminal


def test_work_without_words_is_spoken_for(monkeypatch):
    screen = sit_down(monkeypatch)
    with _wait_notice.watched("digging", lambda: "3 holes"):
        assert screen.written.wait(600)
    assert screen.getvalue().startswith("\rsottovoce: digging (0 s, 3 holes)")
    assert screen.getvalue().endswith("\n")
    before = threading.active_count()
    with pytest.raises(KeyError), _wait_notice.watched("failing"):
        raise KeyError
    assert threading.active_count() == before


def test_nobody_watches_where_there_is_no_terminal(monkeypatch):
    monkeypatch.setattr(_wait_notice.sys, "stderr", io.StringIO())
    with _wait_notice.watched("digging"):
        assert not [one for one in threading.enumerate() if "watching" in one.name]


def test_what_is_watched_is_watched_once(monkeypatch):
    screen = sit_down(monkeypatch)
    with _wait_notice.watched("the whole"), _wait_notice.watched("a part"):
        assert screen.written.wait(600)
    assert "the whole" in screen.getvalue()
    assert "a part" not in screen.getvalue()


def test_setting_up_by_a_slow_oracle_says_how_often_it_was_asked(monkeypatch):
    screen = sit_down(monkeypatch)
    slate, asked = sv.domains.Hypersimplex(4, 2), []

    def oracle(cost):
        asked.append(cost)
        if len(asked) == 40:
            assert screen.written.wait(600)
        return slate.extreme_point(cost)

    domain = sv.domains.Custom(oracle, 4)
    sv.PrivateBandit(domain, horizon=100, loss_range=(0, 1), privacy=sv.PureDP(1.0), plan="worst-case")
    said = screen.getvalue()
    assert "sottovoce: " in said
    assert "oracle" in said
