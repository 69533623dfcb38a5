"""Stating a study where it lies: on both kinds of storage, of every version, whatever its set and its noise."""

import numpy as np
import pytest
from study_tools import ball, sums

import sottovoce as sv
from sottovoce.errors import ConfigurationMismatch, StudyNotFound
from sottovoce.studies import state_stored


def test_a_statement_says_what_status_and_verify_say(sqlite_url, opened):
    study = opened(sqlite_url, name="spring", **sums(privacy=sv.PureDP(1.0)))
    for _ in range(2):
        block = study.ask_round()
        study.tell(block.ids[:-1], np.full(len(block) - 1, 0.5))
        study.forget(block.ids[-1:])
    study.ask(size=3)
    stated, status = state_stored(sqlite_url, "spring", verify=True), study.status()
    assert (stated.rounds, stated.open_rounds, stated.told) == (status.round, status.open_rounds, status.told)
    assert (stated.released, stated.forgotten, stated.incarnation) == (2, status.forgotten, status.incarnation)
    assert stated.asked >= status.asked  # a process may have reserved more than it has handed out
    assert stated.privacy == study.privacy
    assert stated.verification.ok
    assert not stated.restored


def test_a_server_is_stated_with_what_its_log_keeps_and_without_a_password(postgres_url, opened):
    opened(postgres_url, name="spring", **sums(privacy=sv.PureDP(1.0)))
    told = postgres_url.replace("tester@", "tester:hush-hush@")
    assert told != postgres_url
    stated = state_stored(told, "spring")
    assert "hush-hush" not in repr(stated)
    assert any("the server's own log" in one for one in stated.privacy.not_covered)
    assert not stated.reachable


def test_a_set_of_functions_has_to_be_passed_and_simulated_noise_has_not(sqlite_url, opened):
    cheapest = sv.domains.Custom(lambda cost: (np.arange(3) == np.argmin(cost)).astype(float), 3)
    study = opened(sqlite_url, name="own", **ball(domain=cheapest, privacy=sv.PureDP(1.0), noise=sv.SimulatedNoise(1)))
    with pytest.raises(ConfigurationMismatch):
        state_stored(sqlite_url, "own")
    stated = state_stored(sqlite_url, "own", domain=cheapest)
    assert stated.privacy.simulated
    assert stated == study.statement()
    with pytest.raises(StudyNotFound):
        state_stored(sqlite_url, "another")


def test_a_file_that_others_can_reach_is_noted(sqlite_url, shelf, opened):
    opened(sqlite_url, name="spring", **sums()).close()
    assert not state_stored(sqlite_url, "spring").reachable
    (shelf / "study.db").chmod(0o644)
    assert state_stored(sqlite_url, "spring").reachable
