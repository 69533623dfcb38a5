"""Small studies that the tests share, and what opens them."""

import contextlib
import os

import sottovoce as sv

SOAK = os.environ.get("SOTTOVOCE_SOAK", "") not in ("", "0")


def ball(**changes):
    """A study on a ball: frames, rounds of eight events."""
    return {
        "domain": sv.domains.Ball(3),
        "horizon": 100_000,
        "loss_range": (0.0, 1.0),
        "privacy": sv.NoPrivacy(),
        "plan": "worst-case",
        "batch_size": 8,
    } | changes


def sums(**changes):
    """A study whose rounds of twelve release plain sums of all their losses: every event counts once, with weight 1."""
    return {
        "domain": sv.domains.Simplex(4),
        "horizon": 100_000,
        "loss_range": (0.0, 1.0),
        "privacy": sv.NoPrivacy(),
        "losses": "linear",
        "integral": True,
        "exploration": "designs",  # as it would be anyway; the search for a plan need not weigh the others
        "rate": 1.0,
        "probe_events": 12,
        "decay": 0.0,
    } | changes


def probing(**changes):
    """A study that wants few of its losses: rounds of twelve events, three of which probe."""
    return sums(rate=0.25, probe_events=3) | changes


def believing(**changes):
    """A study as anybody gets it who asks for nothing else: posterior probes, rounds of twelve events that then grow.

    Its rounds, too, release plain sums of all their losses.
    """
    return {
        "domain": sv.domains.Hypersimplex(4, 2),
        "horizon": 100_000,
        "loss_range": (0.0, 1.0),
        "privacy": sv.NoPrivacy(),
        "losses": "linear",
        "integral": True,
        "probes": 3,
        "least_events": 4,
    } | changes


def curved(**changes):
    """The same, of convex losses on a ball."""
    return believing(domain=sv.domains.Ball(3), losses="convex", integral=False, probes=4, least_events=3) | changes


class Opener:
    """Opens studies, and closes them in the end."""

    def __init__(self):
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stack.close()

    def __call__(self, url, name="study", **arguments):
        study = sv.Study.open(url, name=name, **arguments)
        self._stack.callback(study.close)
        return study
