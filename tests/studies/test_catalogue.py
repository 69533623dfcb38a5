"""What a storage holds, without opening any study: the counts of the list are those that each study says of itself."""

import time

import numpy as np
import pytest
from study_tools import ball, set_clock

import sottovoce as sv
from sottovoce.studies import Catalogue, Study, list_studies


def made(opened, url, name, **options):
    return opened(url, name=name, **ball(privacy=sv.PureDP(1.0)) | options)


def test_counts_are_those_of_the_studies(url, opened):
    """On both kinds of storage, while one study is idle, one is in the middle of its rounds, one lacks losses."""
    idle = made(opened, url, "idle")
    busy = made(opened, url, "busy")
    actions = busy.ask(150)
    busy.tell(actions.ids[:120], np.full(120, 0.25))
    busy.forget(actions.ids[120:125])
    with Catalogue(url) as catalogue:
        for _ in range(2):  # what never changes is remembered, what does is read again
            found = {one.name: one for one in catalogue.entries()}
            assert list(found) == ["busy", "idle"]
            for study in (idle, busy):
                status, entry = study.status(), found[study.name]
                assert (entry.told, entry.forgotten, entry.rounds) == (status.told, status.forgotten, status.round)
                assert entry.open_rounds == status.open_rounds
                assert (
                    entry.waiting - status.outstanding == entry.asked - status.asked
                )  # what is in hand is not told apart
                assert entry.incarnation == status.incarnation
                assert entry.private
                assert entry.spent == status.spent
            busy.tell(busy.ask(10).ids, np.full(10, 0.25))
    assert found["busy"].waiting > 0


def test_a_round_that_nobody_closes_is_overdue(sqlite_url, opened, monkeypatch):
    study = made(opened, sqlite_url, "late", deadline=3600.0, patience=None)
    actions = study.ask_round()
    study.tell(actions.ids[1:], np.full(len(actions) - 1, 0.5))
    made(opened, sqlite_url, "patient", patience=None).ask_round()
    set_clock(monkeypatch, lambda: time.time() + 3000.0)
    assert [one.overdue for one in list_studies(sqlite_url)] == [0, 0]
    set_clock(monkeypatch, lambda: time.time() + 7200.0)
    assert [one.overdue for one in list_studies(sqlite_url)] == [1, 0]


def test_no_privacy_and_simulated_noise_protect_nobody(sqlite_url, opened):
    made(opened, sqlite_url, "plain", privacy=sv.NoPrivacy())
    made(opened, sqlite_url, "imitated", noise=sv.SimulatedNoise(1))
    found = {one.name: one for one in list_studies(sqlite_url)}
    assert [(one.private, one.simulated) for one in (found["plain"], found["imitated"])] == [
        (False, False),
        (False, True),
    ]


@pytest.mark.parametrize("privacy", [sv.PureDP(1.0), sv.LocalDP(1.0), sv.NoPrivacy()])
def test_the_course_of_a_study_is_what_it_released(sqlite_url, opened, privacy):
    """Against the export, whose numbers are decoded here by hand."""
    options = {"domain": sv.domains.Hypersimplex(6, 2), "horizon": 4_000, "loss_range": (-1.0, 3.0)}
    with Study.open(sqlite_url, name="one", privacy=privacy, losses="linear", **options) as study:
        for part in range(4):
            actions = study.ask_round()
            losses = np.full(len(actions), 0.5 + part // 2)
            if isinstance(privacy, sv.LocalDP):
                study.tell(actions.ids, report=sv.local.privatise(losses, study.channel))
            else:
                study.tell(actions.ids, losses)
        whole, exported = study.history(), study.export()["rounds"]
        assert len(whole.means) == 4
        grid = study.channel if isinstance(privacy, sv.LocalDP) else study.plan.grids((-1.0, 3.0))[0]
        noise = study.plan.noise
        for place, one in enumerate(exported):
            events = sum(one["weights"])
            assert events == one["size"]
            assert whole.means[place] == pytest.approx(grid.low + grid.step * sum(one["released"]) / events)
            assert whole.ends[place] == one["first_event"] + one["size"]
            if noise is not None:
                sd = grid.step * noise.standard_deviation * np.sqrt(len(one["released"])) / events
                assert whole.deviations[place] == pytest.approx(sd)
        assert study.history(most=3).rounds.tolist() == [1, 2, 3]
        if isinstance(privacy, sv.NoPrivacy):
            assert whole.means == pytest.approx([0.5, 0.5, 1.5, 1.5], abs=1e-6)


def test_plans_without_means_say_why(sqlite_url):
    options = {"domain": sv.domains.Ball(3), "horizon": 4_000, "loss_range": (0.0, 1.0)}
    with Study.open(sqlite_url, name="frames", privacy=sv.PureDP(1.0), plan="worst-case", **options) as study:
        actions = study.ask_round()
        study.tell(actions.ids, np.full(len(actions), 0.5))
        history = study.history()
        assert study.plan.exploration == "frames"
        assert not len(history.means)
        assert "differences" in history.why


def test_a_world_that_changes_is_noticed(sqlite_url):
    """Losses turn round half-way: what was learned is forgotten, and the history says when."""
    options = {"domain": sv.domains.Hypersimplex(6, 2), "horizon": 40_000, "loss_range": (0.0, 1.0)}
    costs, coins = np.linspace(0.02, 0.48, 6), np.random.default_rng(1)
    with Study.open(sqlite_url, name="one", privacy=sv.NoPrivacy(), losses="linear", seed=3, **options) as study:
        assert study.history().changes == 0
        while study.status().asked < 30_000:
            actions = study.ask_round()
            now = costs if study.status().asked < 20_000 else costs[::-1]
            study.tell(actions.ids, coins.random(len(actions)) < actions.x @ now)
        history = study.history()
        assert history.changes >= 1
        assert 20_000 <= history.changed_at <= 30_000
