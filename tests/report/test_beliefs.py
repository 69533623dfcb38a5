"""What is believed, in the page of a run: a chart of coordinates, and a warning if the model is wrong."""

from html import unescape

import numpy as np

import sottovoce as sv
from sottovoce.report import run_report
from sottovoce.report.html._beliefs import show_belief

COSTS = np.linspace(0.1, 0.6, 8)


def played(losses, domain=None, **options):
    optimizer = sv.PrivateBandit(
        sv.domains.Hypersimplex(8, 3) if domain is None else domain,
        horizon=8_000,
        loss_range=(0.0, 1.0),
        privacy=sv.NoPrivacy(),
        exploration="posterior",
        seed=1,
        **options,
    )
    actions = optimizer.ask(8_000)
    coins = np.random.default_rng(0).random(8_000)
    optimizer.tell(actions.ids, coins < losses(actions.x))
    return optimizer


def linear(x):
    return x @ COSTS[: x.shape[1]] / 3


def pairs(x):
    """Losses that depend on whether two items are of one kind."""
    return 0.2 + 0.3 * np.abs(x[:, ::2].sum(axis=1) - 1.5)


def test_the_page_of_a_run_shows_what_is_believed(tmp_path):
    environment = sv.lab.NoisyLinear(sv.domains.Hypersimplex(8, 3))
    options = {"losses": "linear", "exploration": "posterior", "privacy": sv.NoPrivacy(), "seed": 1}
    optimizer = sv.PrivateBandit(environment.domain, horizon=3_000, loss_range=environment.loss_range, **options)
    run = sv.lab.simulate(optimizer, environment)
    page = run_report(run, tmp_path / "report.html", optimizers=[optimizer])
    words = page.read_text()
    assert 'id="belief"' in words
    assert "What a coordinate adds to the loss" in words
    assert "in the decision" in words
    without = run_report(run, tmp_path / "other.html").read_text()
    assert 'id="belief"' not in without


def test_a_model_that_is_wrong_is_said_to_be():
    optimizer = played(pairs, integral=True)
    shown = show_belief(optimizer.posterior(), optimizer.point, who="one")
    assert "do not look linear" in shown["warning"]
    right = played(linear, integral=True)
    assert show_belief(right.posterior(), right.point, who="one")["warning"] == ""


def test_many_coordinates_are_cut_to_the_ends():
    wide = played(lambda x: x[:, :4].sum(axis=1) / 5, domain=sv.domains.Hypersimplex(100, 5), integral=True)
    (chart,) = show_belief(wide.posterior(), wide.point, who="one")["charts"]
    assert "Of 100 coordinates, the 20 best and the 20 worst are shown" in chart.caption
    assert chart.svg.count('class="mark') == 40


def test_every_point_is_read_out_by_the_name_of_its_coordinate():
    names = [f"drink {i}|<b>" for i in range(8)]
    for labels in (names, None):
        set_of_drinks = sv.domains.Hypersimplex(8 if labels is None else labels, 3)
        optimizer = played(linear, domain=set_of_drinks, integral=True)
        posterior = optimizer.posterior()
        chart = show_belief(posterior, optimizer.point, who="one")["charts"][0].svg
        read_out = [part.split('"')[0].split("|") for part in chart.split('data-at="')[1:]]
        said = [unescape(one) for part in read_out for one in part]
        expected = [str(i) for i in range(8)] if labels is None else [name.replace("|", "/") for name in names]
        assert sorted(said) == sorted(expected)
        inside = np.flatnonzero(optimizer.point > 0)
        assert {unescape(one) for one in read_out[0]} == {expected[i] for i in inside}
        assert "<b>" not in chart
