"""Breaks that are planted under an audit: what it finds wrong, and noise that is weaker than it was asked for."""

from dataclasses import dataclass, replace

from sottovoce.auditing import Configuration, align
from sottovoce.auditing._sources import Silence
from sottovoce.learning.segment_policy import SegmentPolicy
from sottovoce.privacy import PureDP


def misaligned(subject, most=24, **options):
    """Return what an alignment finds wrong, in words; empty if nothing is.

    It involves no chance: a right program never fails it, and a break that it catches is caught every time.
    """
    check = align(subject, most=most, **options)
    print(check)
    return "" if check.passed else check.words


def by_item(domain, horizon, most=1.0, loss_range=(-1.0, 0.0), privacy=None, **more):
    """Return a small configuration of feedback by item."""
    made = Configuration(domain, privacy or PureDP(1.0), horizon, {"probes": 2}, loss_range, **more)
    return replace(made, integral=True, feedback="items", most=most)


@dataclass(frozen=True)
class Shortened:
    """A source whose noise has a smaller scale than it was asked for: what a wrong calibration comes to."""

    source: object
    factor: float

    @property
    def simulated(self):
        return self.source.simulated

    def sampler(self, noise):
        return self.source.sampler(replace(noise, scale=noise.scale * self.factor))


def with_less_noise(configuration, factor):
    return lambda seed, noise: configuration(seed, Shortened(noise, factor))


def silence(monkeypatch, number):
    """Let the stream of a segment, or the pool, have no noise."""
    right = SegmentPolicy._epoch

    def make(self, which, *rest):
        source = self.source
        self.source = Silence() if which == number else source
        try:
            return right(self, which, *rest)
        finally:
            self.source = source

    monkeypatch.setattr(SegmentPolicy, "_epoch", make)
