from dataclasses import asdict

import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from sottovoce.cli import ready
from sottovoce.cli.execute import _file_names, all_settings, labels_of
from sottovoce.cli.settings import RunSettings, from_file, variant, with_values


def test_epsilon_and_delta_choose_the_guarantee():
    assert RunSettings(epsilon=0.5).guarantee == sv.PureDP(0.5)
    assert RunSettings(epsilon=0.5, delta=1e-6).guarantee == sv.ApproxDP(0.5, 1e-6)
    assert RunSettings(no_privacy=True).guarantee == sv.NoPrivacy()


@every(
    ("values", "words"),
    [
        ({"environment": "desert"}, "environment"),
        ({"plan": "best"}, "plan"),
        ({"play": "outside"}, "play"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": "much"}, "epsilon"),
        ({"delta": 1.5}, "delta"),
        ({"delta": -0.1}, "delta"),
        ({"horizon": 0}, "horizon"),
        ({"seed": -1}, "seed"),
        ({"no_privacy": "yes"}, "no-privacy"),
        ({"also": "no-privacy"}, "also"),
        ({"labels": 5}, "labels must be a list of texts"),
        ({"labels": ["tea", 5]}, "labels must be a list of texts"),
        ({"labels": ["tea", "milk, cold"]}, "labels must be two texts at least, without commas"),
    ],
)
def test_bad_values_are_refused_by_name(values, words):
    with pytest.raises((TypeError, ValueError), match=words):
        RunSettings(**values)


def test_whoever_asks_for_an_epsilon_asks_for_privacy():
    assert not with_values(RunSettings(no_privacy=True), {"epsilon": 2.0}).no_privacy
    assert with_values(RunSettings(epsilon=2.0), {"no_privacy": True}).no_privacy


@every("name", ["epsilon", "delta"])
def test_a_budget_and_no_privacy_exclude_each_other(name):
    with pytest.raises(ValueError, match=f"^--{name} and --no-privacy exclude each other$"):
        with_values(RunSettings(), {name: 0.5, "no_privacy": True})
    with pytest.raises(ValueError, match="exclude each other"):
        variant(RunSettings(), f"no-privacy,{name}=0.5")


def test_a_variant_that_changes_nothing_is_not_run_again():
    assert len(all_settings(RunSettings(no_privacy=True, also=("no-privacy",)))) == 1
    assert len(all_settings(RunSettings(no_privacy=True, simulated_noise=True, also=("no-privacy",)))) == 1
    assert len(all_settings(RunSettings(no_privacy=True, also=("no-privacy,simulated-noise",)))) == 1
    assert len(all_settings(RunSettings(also=("epsilon=1", "plan=paper", "plan=paper")))) == 2
    assert (
        len(all_settings(RunSettings(also=("simulated-noise", "epsilon=2", "no-privacy", "no-privacy,plan=paper"))))
        == 5
    )


def test_a_file_holds_the_names_of_the_options(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'environment = "switching"\ndomain = "simplex:4"\nhorizon = "20k"\nsimulated-noise = true\n'
        'also = ["no-privacy"]'
    )
    settings = from_file(path, RunSettings())
    assert (settings.environment, settings.horizon, settings.simulated_noise) == ("switching", 20_000, True)
    assert settings.also == ("no-privacy",)
    assert ready.find(str(path)) == ("mine", settings)


def test_an_unknown_key_is_refused_with_the_known_ones(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("epsilom = 1.0")
    with pytest.raises(ValueError, match=r"'epsilom'.*epsilon.*simulated-noise"):
        from_file(path, RunSettings())


def test_a_file_that_is_not_toml_is_said_to_be_none(tmp_path):
    path = tmp_path / "mine.toml"
    for content in (b"= 3", b"\xff\xfe\x00"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="not a TOML file"):
            from_file(path, RunSettings())


def test_a_variant_changes_what_it_names_and_nothing_else():
    base = RunSettings(epsilon=2.0, seed=4, also=("no-privacy",))
    changed = variant(base, "epsilon=0.1, delta=1e-6 ,plan=paper")
    expected = {**asdict(base), "epsilon": 0.1, "delta": 1e-6, "plan": "paper", "also": ()}
    assert asdict(changed) == expected
    assert variant(base, "no-privacy").guarantee == sv.NoPrivacy()


@every("text", ["horizon=5", "privacy", "no-privacy=1", "epsilon", "epsilon=x", "plan=best", ""])
def test_other_variants_are_refused(text):
    with pytest.raises((TypeError, ValueError)):
        variant(RunSettings(), text)


def test_labels_tell_runs_apart_and_say_what_is_simulated():
    labels = labels_of(
        all_settings(RunSettings(also=("no-privacy", "plan=paper,simulated-noise", "delta=1e-6,play=around")))
    )
    assert labels == [
        "epsilon = 1",
        "no privacy",
        "epsilon = 1, simulated noise, paper's plan",
        "epsilon = 1, delta = 1e-06, played around",
    ]


def test_runs_of_one_name_are_written_to_files_of_their_own():
    names = _file_names(["epsilon = 1", "no privacy", "epsilon = 1", "epsilon = 1"])
    assert names[:2] == ["run-epsilon-1.npz", "run-no-privacy.npz"]
    assert len(set(names)) == 4


def test_all_ready_runs_can_be_built():
    assert {"demo", "moving-target", "noisy-linear", "switching"} == set(ready.READY)
    for settings in ready.READY.values():
        for one in all_settings(settings):
            assert one.make_environment().domain.dimension >= 10


def test_the_demo_shows_every_plan_and_a_world_that_changes_once():
    demo = ready.READY["demo"]
    assert {one.plan for one in all_settings(demo)} == {None, "worst-case", "paper"}
    world = demo.in_other_world().make_environment()
    moods = world.moods_of(0, demo.horizon)
    assert len(moods) == demo.horizon
    assert np.count_nonzero(np.diff(moods)) == 1
    assert 0.4 < np.flatnonzero(np.diff(moods))[0] / demo.horizon < 0.6


def test_an_environment_has_settings_of_its_own():
    settings = RunSettings(environment="switching:every=50,moods=2,seed=7", domain="simplex:4", seed=1)
    assert repr(settings.make_environment()) == "Switching(Simplex(4), every=50, moods=2, gap=0.3, seed=7)"
    assert settings.in_other_world() is None
    for values, words in (
        ({"environment": "switching:speed=3"}, "environment switching has no setting 'speed'; it has every, moods"),
        ({"beside": "desert"}, "beside must be one of"),
        ({"beside": "slate"}, "beside must be one of"),
        ({"environment": "slate", "beside": "switching"}, "beside must be left out: slate has a world of its own"),
    ):
        with pytest.raises(ValueError, match=words):
            RunSettings(**values)
    with pytest.raises(ValueError, match="'switching:every=0': every must be"):
        RunSettings(environment="switching:every=0").make_environment()


def test_what_all_runs_share_is_not_in_their_names():
    linear = RunSettings(losses="linear", integral=True, also=("plan=worst-case", "plan=paper", "no-privacy"))
    assert labels_of(all_settings(linear)) == [
        "epsilon = 1",
        "epsilon = 1, worst-case plan",
        "epsilon = 1, paper's plan",
        "no privacy",
    ]
    assert labels_of([linear]) == ["epsilon = 1, linear losses, integral"]


def test_a_name_that_is_neither_ready_nor_a_file_is_refused():
    with pytest.raises(ValueError, match="demo, moving-target"):
        ready.find("nothing")
    with pytest.raises(ValueError, match=r"no file nothing\.toml"):
        ready.find("nothing.toml")


def test_a_file_of_settings_may_list_names(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text('domain = "simplex:3"\nlabels = ["tea", "coffee", "cocoa"]\n')
    settings = from_file(path, RunSettings())
    assert settings.feasible_set.labels == ("tea", "coffee", "cocoa")
    assert with_values(settings, {"domain": "simplex:4"}).feasible_set.labels is None
    assert with_values(settings, {"epsilon": 0.5}).feasible_set.labels == ("tea", "coffee", "cocoa")
    assert variant(settings, "no-privacy").feasible_set.labels == ("tea", "coffee", "cocoa")
