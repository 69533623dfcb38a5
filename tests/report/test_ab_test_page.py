"""The page of an A/B test says what the comparison says, and nothing that it should not."""

import re

import numpy as np

import sottovoce as sv
from sampling import every
from sottovoce.report import ab_test_report
from sottovoce.report._charts import Interval, forest

SCHEDULE = (100, 100, 300)


def a_test(privacy=None, noise=None, names="ABC", stages=1):
    """A comparison, and the statement of its evaluations."""
    evaluations = sv.PrivateEvaluations((0.0, 1.0), privacy or sv.PureDP(1.0), noise=noise or sv.SimulatedNoise(1))
    coins, arms = np.random.default_rng(0), {}
    for place, name in enumerate(names):
        arms[name] = []
        for events in SCHEDULE[:stages]:
            one = evaluations.open(events)
            one.tell(coins.random(events) < 0.5 - 0.4 * (place == 1))
            arms[name].append(one)
    if stages == 1:
        return sv.ab_test({name: found[0] for name, found in arms.items()}), evaluations.privacy
    return sv.ab_test(arms, schedule=SCHEDULE), evaluations.privacy


def written(path, *, command="", **settings):
    comparison, privacy = a_test(**settings)
    return comparison, ab_test_report(path / "page.html", comparison, privacy=privacy, command=command).read_text()


def test_every_number_is_there_exactly(tmp_path):
    comparison, page = written(tmp_path)
    for one in comparison.differences:
        assert one.words in page
        assert all(f'data-value="{value!r}"' in page for value in (one.estimate, one.low, one.high))
    for one in comparison.arms:
        assert all(f'data-value="{value!r}"' in page for value in (one.mean, one.low, one.high, one.noise_error))
    assert comparison.correction[1:] in page


def test_looks_are_drawn_if_there_were_any(tmp_path):
    comparison, page = written(tmp_path, stages=2)
    assert 'id="looks"' in page
    assert "2 of its 3 looks were made" in page
    for look in comparison.differences[0].looks:
        assert f"look {look.look}, {look.events:,} events" in page
    assert 'id="looks"' not in written(tmp_path)[1]


@every(
    ("settings", "banner"),
    [({}, True), ({"noise": sv.SecureNoise()}, False), ({"privacy": sv.NoPrivacy()}, True)],
)
def test_what_is_not_private_says_so(tmp_path, settings, banner):
    _, page = written(tmp_path, **settings)
    assert ('id="not-private"' in page) is banner


def test_names_are_text_whatever_they_are(tmp_path):
    names = ("<script>alert(1)</script>", 'say "b" & c', "n" * 300)
    _, page = written(tmp_path, names=names, command="echo '<b>'")
    assert "<script>alert" not in page
    assert page.count("<script") == 1
    assert "&lt;b&gt;" in page


def test_nothing_on_it_is_said_to_be_simulated_but_noise(tmp_path):
    assert "made up by a simulation" not in written(tmp_path, noise=sv.SecureNoise())[1]


def test_intervals_are_drawn_where_they_are():
    """On a scale from -0.2 to 0.2, drawn from 20 to 500; a mark that noise carried away stays at the edge."""
    drawn = forest([Interval("x", -0.1, -0.2, 0.2), Interval("y", 9.0, 0.0, 0.2, shown=False)], "d", "Differences")
    lines = re.findall(r'class="line (\w+)" d="M([\d.]+) [\d.]+L([\d.]+) ', drawn)
    assert [(style, float(low), float(high)) for style, low, high in lines] == [
        ("c0", 20.0, 500.0),
        ("cgrey", 260.0, 500.0),
    ]
    marks = re.findall(r'class="mark \w+" transform="translate\(([\d.]+) ', drawn)
    assert list(map(float, marks)) == [140.0, 500.0]
