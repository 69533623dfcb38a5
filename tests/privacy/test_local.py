"""The local channel: likelihood ratios from its own integers, unbiased reports, nothing but the report gets out."""

import json
import math
import subprocess
import sys
from decimal import Decimal, getcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sampling import every
from sottovoce.errors import InvalidLoss
from sottovoce.privacy import LocalDP
from sottovoce.privacy.local import OneBitChannel, one_bit, privatise, simulate_reports

FALSE_ALARM = 1e-6  # of each statistical test below: real entropy cannot be seeded
WORDS = 2**64
CHANNELS = [OneBitChannel((0.0, 1.0), 1.0), OneBitChannel((-3.0, 5.0), 0.1)]
epsilons = st.floats(1e-6, 8)


@given(epsilons, st.floats(allow_nan=False, allow_infinity=False))
def test_no_loss_leaves_the_thresholds(epsilon, loss):
    channel = OneBitChannel((-1.0, 2.5), epsilon)
    assert channel.least <= channel.threshold(loss) <= WORDS - channel.least
    assert channel.threshold(-1.0) == channel.least
    assert channel.threshold(2.5) == WORDS - channel.least


@given(epsilons)
def test_the_worst_likelihood_ratio_is_at_most_e_to_the_epsilon_and_wastes_nothing(epsilon):
    """To sixty digits; one word fewer and it would be above. Both reports have the same worst ratio by symmetry."""
    getcontext().prec = 60
    least, bound = OneBitChannel((0.0, 1.0), epsilon).least, Decimal(epsilon).exp()
    assert Decimal(WORDS - least) / Decimal(least) <= bound
    assert Decimal(WORDS - least + 1) / Decimal(least - 1) > bound


@given(epsilons, st.floats(0, 1))
def test_one_bit_is_unbiased_with_the_stated_second_moment(epsilon, where):
    """Computed from the integers, not sampled."""
    channel = OneBitChannel((-1.0, 3.0), epsilon)
    loss = -1.0 + 4.0 * where
    chance = channel.threshold(loss) / WORDS
    mean = chance * channel.decode(1) + (1 - chance) * channel.decode(-1)
    assert mean == pytest.approx(loss, abs=1e-9 + 1e-15 * channel.step)
    second = chance * (channel.decode(1) - 1.0) ** 2 + (1 - chance) * (channel.decode(-1) - 1.0) ** 2
    assert second == pytest.approx(channel.second_moment)
    assert channel.second_moment == pytest.approx(4.0 / math.tanh(epsilon / 2) ** 2, rel=1e-5)
    assert chance == pytest.approx(0.5 + (loss - 1.0) / 4.0 * math.tanh(epsilon / 2), abs=1e-12)


@every("loss", [-9.0, 0.0, 0.37, 1.0])
def test_one_bit_reports_follow_their_threshold(loss):
    channel = OneBitChannel((0.0, 1.0), 0.8)
    ones = sum(channel.privatise(loss) == 1 for _ in range(20_000))
    assert stats.binomtest(ones, 20_000, channel.threshold(loss) / WORDS).pvalue > FALSE_ALARM


@every("channel", CHANNELS)
@every("where", [0.0, 0.3, 1.0])
def test_reports_are_unbiased_within_their_second_moment(channel, where):
    """Simulated: 200 000 reports; six standard errors are passed by chance with probability below 1e-8."""
    low, high = channel.loss_range
    loss = low + where * (high - low)
    values = channel.decode(simulate_reports(np.full(200_000, loss), channel, np.random.default_rng(5)))
    middle = (low + high) / 2
    assert abs(values.mean() - loss) <= 6 * math.sqrt(channel.second_moment / 200_000)
    assert np.mean((values - middle) ** 2) == pytest.approx(channel.second_moment, rel=0.03)


@every("channel", CHANNELS)
def test_a_channel_survives_the_wire(channel):
    shipped = OneBitChannel.from_dict(json.loads(json.dumps(channel.to_dict())))
    assert shipped == channel
    assert (shipped.low, shipped.step, shipped.middle) == (channel.low, channel.step, channel.middle)


@every("channel", CHANNELS)
def test_a_channel_knows_its_legal_reports(channel):
    reports = [privatise(loss, channel) for loss in (-99.0, 0.5, 99.0) for _ in range(5)]
    assert all(type(report) is int and channel.valid(report) for report in reports)
    assert channel.valid(reports)
    assert channel.valid(np.array(reports))
    assert channel.valid(np.array([], dtype=np.int64))
    beyond = [channel.most_report + 1, channel.least_report - 1, 0]
    mixed = (np.array([*reports, *beyond]), [*reports, beyond[0]])
    for bad in (*beyond, *mixed, 0.5, math.nan, "1", None, np.array([0.5])):
        assert not channel.valid(bad)
    assert channel.decode(channel.middle) == pytest.approx(sum(channel.loss_range) / 2)


@every("bad", [math.nan, math.inf, -math.inf, "secret-777"])
def test_what_is_no_number_is_refused_without_being_shown(bad):
    for losses in (bad, [0.1234567, bad]):  # one stops all
        with pytest.raises(InvalidLoss) as caught:
            privatise(losses, CHANNELS[0])
        said = str(caught.value).replace("finite", "")
        assert str(bad) not in said
        assert "0.1234567" not in said
        assert caught.value.__context__ is None  # nor behind it


@given(st.floats(1e-3, 10), st.integers(1, 1000))
def test_shares_never_add_up_to_more_than_the_whole(epsilon, contributions):
    from fractions import Fraction

    share = LocalDP(epsilon, contributions).per_report
    assert Fraction(share) * contributions <= Fraction(epsilon)
    assert share == pytest.approx(epsilon / contributions)


def test_impossible_budgets_and_ranges_are_refused():
    for epsilon in (0.0, -1.0, math.nan, 8.000001, 1e-300):
        with pytest.raises(ValueError, match="epsilon"):
            OneBitChannel((0.0, 1.0), epsilon)
    for loss_range in ((1.0, 1.0), (2.0, 1.0), (0.0, math.inf), (math.nan, 1.0), (-1e308, 1e308)):
        with pytest.raises(ValueError, match="loss_range"):
            OneBitChannel(loss_range, 1.0)


def test_one_bit_runs_where_there_is_nothing_but_python():
    """The file alone, in an interpreter without any package: what a phone would run."""
    program = f"""
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("one_bit", {one_bit.__file__!r})
one_bit = importlib.util.module_from_spec(spec)
sys.modules["one_bit"] = one_bit
spec.loader.exec_module(one_bit)
channel = one_bit.OneBitChannel.from_dict(json.loads(sys.argv[1]))
assert "numpy" not in sys.modules and "sottovoce" not in sys.modules
print(channel.least, channel.privatise(0.7))
"""
    channel = OneBitChannel((0.0, 1.0), 0.3)
    command = [sys.executable, "-I", "-S", "-c", program, json.dumps(channel.to_dict())]
    least, report = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert int(least) == channel.least  # the same integers on every machine
    assert int(report) in (-1, 1)
    assert Path(one_bit.__file__).read_text().count("import sottovoce") == 0
