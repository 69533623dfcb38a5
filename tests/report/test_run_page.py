"""The page of a run says what the run says."""

import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from sottovoce.report import run_report

ENVIRONMENT = sv.lab.MovingTarget(sv.domains.Ball(3))


def played(privacy, noise=None, events=2_000):
    optimizer = sv.PrivateBandit(
        ENVIRONMENT.domain, horizon=events, loss_range=ENVIRONMENT.loss_range, privacy=privacy, seed=1, noise=noise
    )
    return sv.lab.simulate(optimizer, ENVIRONMENT), optimizer


def test_the_table_is_the_run(read_page, tmp_path):
    runs = [played(sv.PureDP(1.0), sv.SimulatedNoise(1))[0], played(sv.NoPrivacy())[0]]
    page = read_page(run_report(runs, tmp_path / "report.html", labels=["private", "free"], command="sottovoce run x"))
    for row, one in zip(page.table("runs"), runs, strict=True):
        values = (one.events_finished, one.regret_per_event, one.no_learning_per_event)
        assert [value for value, _ in row[1:]] == [*map(repr, (*values, one.details.rounds, one.details.seconds))]
    assert "sottovoce run x" in page.tags("pre", "command")[0].text
    words = " ".join(page.text.split())
    assert f"2 simulated runs of 2,000 events in {ENVIRONMENT!r}; regret is computed from true losses" in words


def test_the_whole_statement_is_on_the_page(read_page, tmp_path):
    run, optimizer = played(sv.ApproxDP(0.5, 1e-6), sv.SimulatedNoise(1))
    page = read_page(run_report(run, tmp_path / "report.html"))
    words = " ".join(page.text.split())
    privacy = optimizer.privacy
    for part in (privacy.mechanism, privacy.why, privacy.unit, privacy.headline, "their budgets add up"):
        assert part in words
    assert "One simulated run of 2,000 events" in words
    assert "from 50% to at most 62%" in words
    assert "except with a probability of about 1e-06" in words


@every("privacy, noise", [(sv.PureDP(1.0), None), (sv.PureDP(1.0), sv.SimulatedNoise(1)), (sv.NoPrivacy(), None)])
def test_the_banner_is_there_exactly_where_nobody_is_protected(read_page, tmp_path, privacy, noise):
    page = read_page(run_report(played(privacy, noise)[0], tmp_path / "report.html"))
    protected = privacy.private and noise is None
    assert ["NOT PRIVATE" in one.text for one in page.tags(cls="banner")] == [True] * (not protected)
    assert ("imitated, not kept" in page.text) == (noise is not None)


def test_amounts_are_shown_as_bars_if_the_optimizer_is_there(read_page, tmp_path):
    run, optimizer = played(sv.NoPrivacy())
    page = read_page(run_report(run, tmp_path / "report.html", optimizers=[optimizer]))
    widths = np.array([float(one.attributes["width"].rstrip("%")) for one in page.tags("rect", "bar")])
    np.testing.assert_allclose(
        widths / widths.max(), np.abs(optimizer.point) / np.abs(optimizer.point).max(), atol=0.01
    )
    without = read_page(run_report(run, tmp_path / "report.html"))  # what it decided is left out
    assert not [one for one in without.tags("section") if one.attributes["id"] == "decision"]


def test_an_interrupted_run_says_so(read_page, make_run, tmp_path):
    run = make_run()
    names = ("events", "rounds", "simulation_only_loss", "simulation_only_best_loss", "simulation_only_center_loss")
    half = sv.lab.Run(*(getattr(run, name)[:20] for name in names), run.details)
    page = read_page(run_report(half, tmp_path / "report.html"))
    assert "Interrupted before the end" in page.text
    assert "(interrupted)" in page.table("runs")[0][0][1]


def test_runs_and_what_is_said_of_them_must_fit(make_run, tmp_path):
    run = make_run()
    never_began = sv.lab.Run(*(np.zeros(0),) * 5, run.details)
    for runs, options, message in (
        ([], {}, "at least one run"),
        ([run, never_began], {}, "at least one event"),
        (run, {"labels": [None, None]}, "labels must be as many as runs, got 2 for 1"),
        (run, {"optimizers": [None, None]}, "optimizers must be as many as runs, got 2 for 1"),
    ):
        with pytest.raises(ValueError, match=message):
            run_report(runs, tmp_path / "r.html", **options)


@pytest.mark.parametrize(
    ("regret", "number", "words"),
    [(100.0, "75%", "of what the best"), (600.0, "nothing", "1.5 times that of never learning")],
)
def test_the_headline_says_how_much_was_learned(make_run, read_page, tmp_path, regret, number, words):
    page = read_page(run_report(make_run(regret=regret, never=400.0), tmp_path / "r.html"))
    tile = page.tags(cls="tile")[0]
    assert [one.text for one in tile.all(cls="number")] == [number]
    assert words in tile.text
