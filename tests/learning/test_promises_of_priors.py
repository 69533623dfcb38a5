"""What was promised to people whose losses are in a prior: it is carried along, and said wherever the prior goes."""

import json
from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.studies import Catalogue

DOMAIN = sv.domains.Simplex(["ale", "bock", "cider", "draught"])
GIVEN = {"horizon": 400, "loss_range": (0.0, 1.0), "losses": "linear", "exploration": "posterior", "seed": 1}
WEAK, STRONG = sv.PureDP(10.0), sv.PureDP(0.1)
NOT_PRIVATE = {"nothing": {"privacy": sv.NoPrivacy()}, "simulated": {"privacy": STRONG, "noise": sv.SimulatedNoise(1)}}


def played(optimizer, segment=None):
    asked = {} if segment is None else {"segment": segment}
    actions = optimizer.ask(300, **asked)
    optimizer.tell(actions.ids, np.asarray(actions.x) @ [0.9, 0.2, 0.8, 0.7])
    return optimizer


def bandit(privacy, **options):
    return played(sv.PrivateBandit(DOMAIN, **{**GIVEN, "privacy": privacy, **options}))


def words(something):
    return " ".join(str(something).split())


@pytest.fixture(scope="module")
def weak():
    return bandit(WEAK).posterior()


@pytest.fixture(scope="module", params=NOT_PRIVATE)
def open_book(request):
    """A posterior that protects nobody."""
    return bandit(**NOT_PRIVATE[request.param]).posterior()


def test_a_posterior_says_what_was_promised_to_all_who_are_in_it(weak):
    second = bandit(STRONG, prior=weak)
    assert [one.guarantee for one in second.posterior().promises] == [STRONG, WEAK]
    third = bandit(sv.ZCDP(0.5, contributions=3), prior=second.posterior())
    assert [one.guarantee for one in third.posterior().promises] == [sv.ZCDP(0.5, contributions=3), STRONG, WEAK]
    for said in (words(third.privacy), words(third.posterior())):
        assert "epsilon = 10, pure differential privacy" in said
        assert "epsilon = 0.1, pure differential privacy" in said
    assert "in up to 3 events" in words(third.posterior())  # whose promise it is, too
    assert third.posterior().private
    assert not third.posterior().simulated


def test_a_prior_that_protects_nobody_is_refused_where_noise_is_real(open_book):
    for privacy in (STRONG, sv.ZCDP(0.5), sv.ApproxDP(1.0, 1e-6), sv.LocalDP(1.0)):
        with pytest.raises(ValueError, match="accept_prior='not private'"):
            sv.PrivateBandit(DOMAIN, **GIVEN, privacy=privacy, prior=open_book)
    middle = bandit(STRONG, prior=open_book, accept_prior="not private").posterior()
    assert not middle.private
    with pytest.raises(ValueError, match="accept_prior='not private'"):  # after any number of runs in between
        sv.PrivateBandit(DOMAIN, **GIVEN, privacy=STRONG, prior=middle)


def test_a_prior_that_was_accepted_is_said_to_protect_nobody_everywhere(open_book, tmp_path):
    optimizer = bandit(STRONG, prior=open_book, accept_prior="not private")
    assert "PRIOR NOT PRIVATE" in optimizer.privacy.headline
    assert "NOT PRIVATE" in words(optimizer.privacy).split("Prior")[1]
    assert "NOT PRIVATE" in str(optimizer.posterior())
    assert "NOT PRIVATE" in optimizer.posterior().privacy
    assert [one.private for one in optimizer.posterior().promises] == [True, False]
    loaded = sv.Posterior.load(optimizer.posterior().save(tmp_path / "kept"))
    assert loaded.promises == optimizer.posterior().promises
    assert loaded == optimizer.posterior()


def test_what_is_accepted_has_to_be_there_and_be_said_in_these_words(weak, open_book):
    with pytest.raises(ValueError, match="accept_prior must be one of 'not private'"):
        sv.PrivateBandit(DOMAIN, **GIVEN, privacy=STRONG, prior=open_book, accept_prior="yes")
    with pytest.raises(ValueError, match="accept_prior is about a prior, and there is none"):
        sv.PrivateBandit(DOMAIN, **GIVEN, privacy=STRONG, accept_prior="not private")
    said = bandit(STRONG, prior=weak, accept_prior="not private").privacy
    assert "NOT PRIVATE" not in str(said)  # that it would be accepted does not make it so


def test_a_posterior_without_a_label_is_taken_for_one_that_protects_nobody(weak):
    bare = replace(weak, promises=())
    assert not bare.private
    with pytest.raises(ValueError, match="not known"):
        sv.PrivateBandit(DOMAIN, **GIVEN, privacy=STRONG, prior=bare)
    accepted = bandit(STRONG, prior=bare, accept_prior="not private")
    assert "a promise that is not known" in words(accepted.privacy)
    assert [one.private for one in accepted.posterior().promises] == [True, False]


@pytest.mark.parametrize("segments", [None, ["day", "night"]])
def test_studies_say_it_too(open_book, weak, tmp_path, segments):
    url = f"sqlite:///{tmp_path / 'studies.db'}"
    given = {"domain": DOMAIN, **GIVEN, "privacy": STRONG, "segments": segments}
    own = {} if segments is None else {"segment": "day"}
    with pytest.raises(ValueError, match="accept_prior='not private'"):
        sv.Study.open(url, name="bare", **given, prior=open_book)
    with sv.Study.open(url, name="weak", **given, prior=weak) as study:
        assert [one.guarantee for one in played(study, **own).posterior(**own).promises] == [STRONG, WEAK]
        assert study.export()["configuration"]["prior_promises"] == [weak.promises[0].to_dict()]
        assert "epsilon = 10" in study.export()["privacy"]
    with sv.Study.open(url, name="bare", **given, prior=open_book, accept_prior="not private") as study:
        played(study, **own)
    with sv.Study.open(url, name="bare") as study:  # what it was made with is on record
        assert "PRIOR NOT PRIVATE" in study.privacy.headline
        assert "PRIOR NOT PRIVATE" in study.status().privacy
        assert not study.posterior(**own).private
        exported = study.export()
        assert exported["configuration"]["accept_prior"] == "not private"
        assert "NOT PRIVATE" in exported["privacy"]
        json.dumps(exported)
    with Catalogue(url) as listed:
        assert {one.name: "PRIOR NOT PRIVATE" in str(one) for one in listed.entries()} == {"bare": True, "weak": False}
