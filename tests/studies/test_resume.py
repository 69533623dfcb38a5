"""Resuming and refusing: what a study is made of stays what it was, its names included."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from study_tools import ball, sums

import sottovoce as sv
from children import is_refused_after_a_fork
from sampling import every
from sottovoce.domains.design import adopt_design, d_optimal_design
from sottovoce.errors import ConfigurationMismatch, StateRefused, StorageError, StudyNotFound
from sottovoce.rounds.stores.sql.store import SqlStore


def test_a_study_is_resumed_without_any_arguments(opened, sqlite_url):
    arguments = ball(privacy=sv.PureDP(0.5, contributions=2), play="around", lipschitz=2.0)
    study = opened(sqlite_url, **arguments)
    study.ask(3)
    plan, words = study.plan, str(study.privacy)
    study.close()
    again = opened(sqlite_url)
    assert again.plan == plan
    assert str(again.privacy) == words
    assert repr(again.domain) == repr(arguments["domain"])
    assert again.status().asked == 3
    again.close()
    assert opened(sqlite_url, **arguments).status().asked == 3  # with all of them, too


def test_rounded_coordinates_stay_those_that_were_stored(opened, sqlite_url):
    """Even where this process computes others for the same set: released sums are in the stored ones."""
    slates = sv.domains.Hypersimplex(6, 2)
    computed = d_optimal_design(slates)
    turned = replace(computed, whitening=-computed.whitening, factor=-computed.factor)
    adopt_design(slates, turned)
    facts = {"horizon": 4000, "loss_range": (0.0, 1.0), "privacy": sv.PureDP(5.0)}
    study = opened(sqlite_url, domain=slates, losses="linear", plan="worst-case", **facts)
    actions = study.ask_round()
    study.tell(actions.ids, np.full(len(actions), 0.5))
    study.close()
    assert not np.array_equal(d_optimal_design(sv.domains.Hypersimplex(6, 2)).factor, turned.factor)
    again = opened(sqlite_url)
    assert again.round == 1
    assert np.array_equal(again._policy.current().placement.rounded.design.factor, turned.factor)


def test_a_mismatch_is_refused_with_a_diff(opened, sqlite_url):
    opened(sqlite_url, seed=1, **ball()).ask()
    changes = {
        "domain": sv.domains.Ball(3, radius=2.0),
        "horizon": 5,
        "loss_range": (0.0, 2.0),
        "privacy": sv.PureDP(1.0),
        "play": "around",
        "batch_size": 9,
        "seed": 2,
        "deadline": 3.0,
        "noise": sv.SimulatedNoise(1),
    }
    for name, value in changes.items():
        with pytest.raises(ConfigurationMismatch) as refused:
            opened(sqlite_url, **{name: value})
        words = {"batch_size": "choices"}.get(name, name)
        assert f"{words} is " in str(refused.value)
        assert str(refused.value).count(", not ") == 1
    with pytest.raises(ConfigurationMismatch) as refused:
        opened(sqlite_url, **changes)
    assert str(refused.value).count(", not ") == len(changes)
    assert opened(sqlite_url, **ball()).status().asked == 1


def test_a_study_that_is_not_there_is_named(opened, sqlite_url):
    with pytest.raises((StudyNotFound, StorageError)):
        opened(sqlite_url, "spring")
    opened(sqlite_url, "autumn", **ball())
    with pytest.raises(StudyNotFound, match=r"name='spring'.*it has 'autumn'.*pass domain, horizon, loss_range, priv"):
        opened(sqlite_url, "spring")
    with pytest.raises(StudyNotFound, match="pass horizon, loss_range, privacy"):
        opened(sqlite_url, "spring", domain=sv.domains.Ball(3))


def test_a_domain_with_functions_is_passed_again_and_checked(opened, sqlite_url):
    corners = np.eye(3)

    def build(scale=1.0):
        return sv.domains.Custom(lambda cost: scale * corners[np.argmin(cost)], 3)

    study = opened(sqlite_url, **ball(domain=build()))
    study.ask(9)
    study.close()
    with pytest.raises(ConfigurationMismatch, match="domain must be passed again"):
        opened(sqlite_url)
    with pytest.raises(ConfigurationMismatch, match="domain"):
        opened(sqlite_url, domain=build(2.0))
    assert opened(sqlite_url, domain=build()).status().asked == 9


def test_mechanisms_that_keep_secrets_are_refused_with_the_reason(opened, sqlite_url):
    arguments = ball(privacy=sv.PureDP(1.0), plan="paper")
    sv.PrivateBandit(arguments.pop("domain"), **arguments)  # in memory it may
    with pytest.raises(StateRefused, match="mechanism='tree' keeps un-noised sums from one round to the next"):
        opened(sqlite_url, domain=sv.domains.Ball(3), **arguments)
    with pytest.raises(StudyNotFound):
        opened(sqlite_url)  # nothing was created


def test_simulated_noise_says_so_and_stays_so(opened, sqlite_url):
    study = opened(sqlite_url, noise=sv.SimulatedNoise(1), **ball(privacy=sv.PureDP(1.0)))
    assert "NOT PRIVATE" in study.status().privacy
    assert "NOT PRIVATE" in str(study.status())
    study.close()
    for real in (None, sv.SecureNoise()):
        with pytest.raises(StateRefused, match="NOT PRIVATE"):
            opened(sqlite_url, noise=real)
    assert "NOT PRIVATE" in opened(sqlite_url, noise=sv.SimulatedNoise(9)).status().privacy
    assert "NOT PRIVATE" not in opened(sqlite_url, "real", **ball(privacy=sv.PureDP(1.0))).status().privacy


def test_a_study_is_not_copied_pickled_or_taken_through_a_fork(opened, sqlite_url):
    study = opened(sqlite_url, **sums())
    action = study.ask()
    for copier in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="open it again, by URL and name"):
            copier(study)
    for call in (study.ask, lambda: study.tell(action.id, 0.5), study.status, lambda: study.forget(action.id)):
        assert is_refused_after_a_fork(call)
    study.tell(action.id, 0.5)
    assert study.status().told == 1


def test_a_closed_study_says_so(opened, sqlite_url):
    study = opened(sqlite_url, **sums())
    action = study.ask()
    study.close()
    study.close()
    looks = (study.status, study.outstanding, study.export, study.verify)
    for call in (study.ask, lambda: study.tell(action.id, 0.5), *looks):
        with pytest.raises(StorageError, match="the study is closed: open it again"):
            call()
    with opened(sqlite_url) as again:
        again.tell(action.id, 0.5)


@every("problem", [StorageError("full"), KeyboardInterrupt()])
def test_a_round_whose_beginning_was_undone_is_not_shown(opened, sqlite_url, monkeypatch, problem):
    study = opened(sqlite_url, repr(problem), **ball(), seed=1)
    actions = study.ask_round()
    study.tell(actions.ids, np.clip(actions.x[:, 0], 0.0, 1.0))
    played, save = study.point, SqlStore._save

    def undone(self, counters, steps):
        save(self, counters, steps)
        raise problem

    with monkeypatch.context() as patched:
        patched.setattr(SqlStore, "_save", undone)
        with pytest.raises(type(problem)):
            study.ask()
    assert np.array_equal(study.point, played)
    assert np.array_equal(study.status().point, played)
    study.ask()
    assert not np.array_equal(study.point, played)  # or there was nothing to see
    assert np.array_equal(opened(sqlite_url, repr(problem)).point, study.point)
    assert study.verify().ok


# ---------------------------------------------------------------------- names


DRINKS = ("tea", "coffee", "cocoa", "milk")
NAMED = sv.domains.Simplex(DRINKS)


def test_other_names_of_the_same_set_are_refused(opened, sqlite_url):
    opened(sqlite_url, **sums(domain=NAMED)).close()
    opened(sqlite_url, **sums(domain=sv.domains.Simplex(list(DRINKS)))).close()
    for other, words in (
        (("tea", "coffee", "milk", "cocoa"), "coordinate 2 is 'cocoa', not 'milk'; they are the same names in another"),
        (("tea", "coffee", "cocoa", "juice"), "coordinate 3 is 'milk', not 'juice'. "),
    ):
        with pytest.raises(ConfigurationMismatch, match="domain is the same set under other names: ") as refused:
            opened(sqlite_url, **sums(domain=sv.domains.Simplex(other)))
        assert words in str(refused.value)


def test_a_set_without_names_takes_those_of_the_study(opened, sqlite_url):
    opened(sqlite_url, **sums(domain=NAMED)).close()
    assert opened(sqlite_url, **sums(domain=sv.domains.Simplex(4))).ask().chosen[0] in DRINKS


def cheapest(cost):
    return np.eye(4)[np.argmin(cost)]


def test_names_of_a_set_that_is_not_stored_are(opened, sqlite_url):
    opened(sqlite_url, **sums(domain=sv.domains.Custom(cheapest, DRINKS))).close()
    study = opened(
        sqlite_url, domain=sv.domains.Custom(cheapest, 4)
    )  # by itself it cannot be opened, and has no names here
    assert study.ask().chosen[0] in DRINKS
    study.close()
    with pytest.raises(ConfigurationMismatch, match="coordinate 3 is 'milk', not 'juice'"):
        opened(sqlite_url, domain=sv.domains.Custom(cheapest, [*DRINKS[:3], "juice"]))
    opened(sqlite_url, domain=sv.domains.Custom(cheapest, DRINKS)).close()
