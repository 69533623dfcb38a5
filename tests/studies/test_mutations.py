"""`verify` finds whatever is changed in a study, though every checksum fits; what it cannot find is listed here."""

import re
from functools import cache

import numpy as np
import pytest
from histories import CASES
from killing import tally
from mutations import changed, faults_of, found_and_not, rows_of
from study_tools import SOAK

import sottovoce as sv
from sottovoce._records import pack, unpack

KINDS = (
    *("frames", "designs", "designs, every loss", "fresh noise", "unknown horizon", "local", "no privacy"),
    "probes",
    *(("probes on a ball", "probes, no privacy", "probes, unknown horizon", "probes, local") if SOAK else ()),
)

INVISIBLE = {
    # Settings and names: any would do, and nothing else depends on them yet.
    r"head\.(name|patience|deadline|key) .*": "what a user may set",
    r"head\.configuration\[(seed|simulated|key_check|identity)\] .*": "what a user may set",
    r"head\.configuration\[configuration\.(choices|domain_name|integral|lipschitz|plan|patience)\] .*": "later",
    r"head\.configuration\[configuration\.privacy\] contributions .*": "where nothing is protected",
    r"head\.configuration\[configuration\.privacy\] epsilon raised": "the noise is more than enough for that",
    # Counters that only move, and the clock.
    r"head\.(version|structure|generation|writers|erased) .*": "as good as any other",
    r"rounds\.full_at .*": "a time of day",
    r"rounds\.full_after (raised|lowered)": "within one call of ask",
    r"epochs\.learned\[(calls|passed|opened)\] (raised|lowered)": "a count of old; the row's own is used",
    # Dice, and the losses themselves.
    r"head\.coins\[coins\] changed": "as good as any other",
    r"cells\.losses of a loss raised": "a loss is what it is told to be",
    r"rounds\.public\[exploration\.places\] .*": "of rounds that were dropped, or count every loss",
    r"rounds\.public\[exploration\.drawn\] .*": "of rounds that were cut by a restoration",
    r"rounds\.public\[exploration\.waiting\] .*": "of rounds that are drawn to their end",
    r"blocks\.draw\[actions\] changed": "vertices drawn at random",
    # What a plan says about itself, and what its exploration does not use.
    r"epochs\.made\[plan\] (alternatives|bound|bound_without_privacy|max_calls|name|no_learning|notes) .*": "words",
    r"epochs\.made\[plan\] (noise_in_loss_units|padding|baseline|gap|memory) .*": "words, or not used",
    r"epochs\.made\[plan\] (batch_size|control_variate|decay|growth|probe_events|radius|rate|reuse) .*": "not used",
    r"epochs\.made\[plan\] bits lowered": "not used, where reports have a grid of their own",
    r"epochs\.made\[plan\] noise scale raised": "more noise than enough",
    r"epochs\.made\[design\.(calls|worst_leverage)\] .*": "words",
    # Points that are the same after one round more or less.
    r"epochs\.learned\[learner\.(solved|observed)\] .*": "equal points",
    r"epochs\.made\[after\] lowered": "equal points",
    r"rounds\.public\[learned\] .*": "equal points; the first round may be of old",
}
OF_PROBES = {  # what is invisible of posterior probes alone
    r"epochs\.made\[plan\] (step|step_multiplier|delay|method) .*": "no steps are taken",
    r"epochs\.made\[plan\] options (round_growth|round_cap) .*": "rounds of the least length",
    r"epochs\.made\[plan\] options (temper|sentinel) .*": "which decisions are drawn: dice",
}
PERHAPS = {r"rounds\.public\[exploration\.probes\] changed": "of a dropped round, within the set: dice"}


def excused(case):
    """Return what need not be found of a kind of study."""
    return INVISIBLE | (OF_PROBES | PERHAPS if case.startswith("probes") else {})


def some_study(url, case):
    """Return the rows of a study with rounds in every state: released, dropped by a restoration, full, and begun."""
    arguments, rng = CASES[case], np.random.default_rng(0)

    def tell(study, ids):
        values = rng.random(len(ids))
        if study._local:
            study.tell(ids, report=[sv.local.privatise(float(one), study.channel) for one in values])
        else:
            study.tell(ids, values)

    with sv.Study.open(url, name="study", seed=3, patience=None, **arguments) as study:
        tell(study, study.ask(270 if arguments["horizon"] is None else 30).ids)
        study.forget(study.ask(3).ids[:1])
    with sv.Study.open(url, name="study", restored=True) as study:
        tell(study, study.ask(20).ids)
        ids = study.ask(21).ids[5:]
        study.forget(ids[:3])
        tell(study, ids[3:7])
    return rows_of(url)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Return a function from a kind of study to which changes are found and which are not."""

    @cache
    def outcome(case):
        rows = some_study(f"sqlite:///{tmp_path_factory.mktemp('study')}/study.db", case)
        assert faults_of(rows) == ()
        return found_and_not(rows)

    return outcome


@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", KINDS)
def test_every_change_of_every_column_is_found_but_for_those_that_cannot_be(case, outcomes):
    found, missed = outcomes(case)
    tally("a change with fitting checksums", "sqlite", "found by verify", sum(found.values()))
    tally("a change with fitting checksums", "sqlite", "invisible by nature", sum(missed.values()))
    assert [what for what in missed if not any(re.fullmatch(one, what) for one in excused(case))] == []
    assert sum(found.values()) > 2 * sum(missed.values())


def test_what_cannot_be_found_is_no_more_than_the_list_says(outcomes):
    """Every entry of the list is needed by some study: it does not excuse what is found."""
    missed = {what for case in KINDS for what in outcomes(case)[1]}
    assert {one for one in INVISIBLE | OF_PROBES if not any(re.fullmatch(one, what) for what in missed)} == set()


def with_record(rows, table, index, column, **values):
    record = unpack(bytes(getattr(getattr(rows, table)[index], column)))
    return changed(rows, table, index, column, pack(record | values))


@pytest.mark.parametrize("case", ["fresh noise", "probes"])
def test_a_release_that_was_replaced_by_another_of_the_same_kind_is_found(case, sqlite_url):
    """By as little as one step of the grid: every release is part of a checksum that is stored elsewhere."""
    rows = some_study(sqlite_url, case)
    first, second = (index for index, row in enumerate(rows.rounds[:2]) if row.state == "released")
    numbers = unpack(rows.rounds[first].released)["numbers"]
    other = with_record(rows, "rounds", first, "released", numbers=numbers + np.eye(len(numbers), dtype=np.int64)[0])
    assert any("chain does not follow" in fault for fault in faults_of(other))
    swapped = with_record(rows, "rounds", first, "released", numbers=unpack(rows.rounds[second].released)["numbers"])
    assert faults_of(swapped)


@pytest.mark.parametrize("case", ["frames", "probes"])
def test_a_plan_whose_noise_is_too_small_for_the_guarantee_is_found(case, sqlite_url):
    rows = some_study(sqlite_url, case)
    plan = unpack(rows.epochs[0].made)["plan"]
    for scale in (plan["noise"]["scale"] / 2, plan["noise"]["scale"] - 1):
        weaker = with_record(rows, "epochs", 0, "made", plan=plan | {"noise": plan["noise"] | {"scale": scale}})
        assert any("needs at least" in fault for fault in faults_of(weaker))
    none = with_record(rows, "epochs", 0, "made", plan=plan | {"noise": None})
    assert any("needs at least" in fault for fault in faults_of(none))


@pytest.mark.parametrize("case", ["unknown horizon", "probes, unknown horizon"])
def test_the_last_round_of_an_epoch_must_not_be_released(case, sqlite_url):
    rows = some_study(sqlite_url, case)
    index = next(index for index, row in enumerate(rows.rounds) if row.state == "unreleased")
    record = unpack(rows.rounds[index].released) | {
        name: unpack(rows.rounds[index - 1].released)[name] for name in ("numbers", "weights")
    }
    other = changed(changed(rows, "rounds", index, "released", pack(record)), "rounds", index, "state", "released")
    assert any("the last of its epoch" in fault for fault in faults_of(other))


def test_losses_of_a_closed_round_must_be_gone(sqlite_url):
    rows = some_study(sqlite_url, "frames")
    other = changed(rows, "cells", 0, "round", 1)
    assert any("losses of round 1 are stored, and it is released" in fault for fault in faults_of(other))
