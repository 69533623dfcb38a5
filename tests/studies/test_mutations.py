"""`verify` finds whatever is changed in a study, though every checksum fits; what it cannot find is listed here."""

import re
from functools import cache

import numpy as np
import pytest
from histories import CASES
from mutations import changed, faults_of, found_and_not, rows_of, with_record
from small_studies import SOAK

import sottovoce as sv
from sottovoce._records import unpack
from sottovoce.rounds.stores.sql.schema import RELEASED, UNRELEASED

KINDS = (
    *("frames", "designs", "designs, every loss", "fresh noise", "unknown horizon", "local", "no privacy"),
    *("probes", "probes on a ball", "probes, unknown horizon", "segments", "segments, unknown horizon"),
    *(("probes, no privacy", "probes, local") if SOAK else ()),
)

LONGER = {  # rounds than in histories: there are fewer of them for each look of `verify` to play again
    "frames": {"batch_size": 8},
    "local": {"batch_size": 8},
    "no privacy": {"batch_size": 8},
    "fresh noise": {"batch_size": 8},
    "probes": {"least_events": 6},
    "probes on a ball": {"least_events": 6},
    "probes, unknown horizon": {"least_events": 12},
    "segments": {"least_events": 12},
    "segments, unknown horizon": {"least_events": 32},
}

PLAN = r"streams\.believed\[planned\]"
INVISIBLE = {
    # Settings and names: any would do, and nothing else depends on them yet.
    r"counters\.(name|patience|deadline) .*": "what a user may set",
    r"counters\.made\[simulated\] .*": "what a user may set",
    r"counters\.made\[configuration\.(choices|domain_name|integral|lipschitz|plan)\] .*": "later",
    r"counters\.made\[configuration\.privacy\] contributions .*": "where nothing is protected",
    r"counters\.made\[configuration\.privacy\] epsilon raised": "the noise is more than enough for that",
    # Counters that only move, and the clock.
    r"counters\.(version|incarnation|writers|erased) .*": "as good as any other",
    r"counters\.(elsewhere|move) changed": "of books that move",
    r"rounds\.full_(at|time) (raised|lowered)": "a time of day; within one call of ask",
    # Dice, and the losses themselves.
    r"chunks\.slots (told|waiting|missing) now (told|waiting|missing), counted": "a loss is what it is told to be",
    r"chunks\.slots of a loss raised": "a loss is what it is told to be",
    r"rounds\.reached (raised|lowered)": "how much was ever leased",
    r"rounds\.public\[exploration\.places\] .*": "of rounds that were dropped, or count every loss",
    r"releases\.(told|missing) (raised|lowered)": "of rounds that were dropped",
    # What a plan says about itself, and what its exploration does not use.
    PLAN + r" (alternatives|bound|bound_without_privacy|max_calls|name|no_learning|notes|forecast) .*": "words",
    PLAN + r" (noise_in_loss_units|padding|baseline|gap|memory) .*": "words, or not used",
    PLAN + r" (batch_size|decay|growth|probe_events|radius|rate) .*": "not used",
    PLAN + r" bits lowered": "not used, where reports have a grid of their own",
    PLAN + r" noise scale raised": "more noise than enough",
    r"counters\.made\[design\.(calls|worst_leverage)\] .*": "words",
    # Points that are the same after one round more or less.
    r"streams\.believed\[epoch\d+\.learner\.(solved|observed)\] .*": "equal points",
    r"rounds\.public\[learned\] .*": "equal points",
}
OF_PROBES = {  # what is invisible of posterior probes alone
    PLAN + r" (step|step_multiplier|delay|method|reach_from_start) .*": "no steps are taken",
    PLAN + r" options (round_growth|round_cap) .*": "rounds of the least length",
    PLAN + r" options posterior_scale .*": "which decisions are drawn: dice",
}
OF_SEGMENTS = {  # what other segments had a say in is not computed again
    r"counters\.made\[configuration\.segments\.(factors|limit)\] .*": "segments that are all named",
    PLAN + r" options (model|probes|least_events) .*": "lengths of rounds",
    r"streams\.believed\[(variance_shares(_learned)?|apart)\] .*": "how alike they are taken to be",
    r"streams\.believed\[prior\..*\] .*": "what other segments said, which follows from theirs",
    r"streams\.believed\[epoch\d+\.explorer\.(alarm|resets|since)\] .*": "when all was forgotten",
    r"streams\.believed\[epoch\d+\.explorer\.(place|scores|squares|prior_evidence|weight)\] "
    r"(raised|lowered|changed|shortened)": "how numbers were judged",
}
OF_SUMS = {PLAN + r" options rate raised": "every event explores already"}  # what is invisible where all losses count
PERHAPS = {
    r"rounds\.public\[exploration\.end\] .*": "of a dropped round of a segment",
    r"rounds\.public\[exploration\.decisions\] (changed|shortened)": "of a dropped round, within the set: dice",
}

OF_BALLS = {r"releases\.released\[numbers\] changed": "squares of a few losses"} if SOAK else {}  # tried there alone


def excused(case):
    """Return what need not be found of a kind of study."""
    probes = OF_PROBES | PERHAPS
    own = {"probes": probes, "segments": probes | OF_SEGMENTS, "designs, every loss": OF_SUMS}
    own["probes on a ball"] = probes | OF_BALLS
    return INVISIBLE | own.get(case, own.get(case.partition(",")[0].partition(" ")[0], {}))


def ask(study, size):
    """Ask for so many actions, for all segments in turn if there are any."""
    return study.ask(size, segment=None if study.segments is None else (["phone", "desktop"] * size)[:size])


def some_study(url, case):
    """Return the rows of a study with rounds in every state: released, dropped by a restoration, full, and begun."""
    arguments, rng = CASES[case] | LONGER.get(case, {}), np.random.default_rng(0)

    def tell(study, ids):
        values = rng.random(len(ids))
        if study._local:
            study.tell(ids, report=[sv.local.privatise(float(one), study.channel) for one in values])
        else:
            study.tell(ids, values)

    with sv.Study.open(url, name="study", seed=3, patience=None, **arguments) as study:
        tell(study, ask(study, 270 if arguments["horizon"] is None else 30).ids)
        study.forget(ask(study, 3).ids[:1])
    with sv.Study.open(url, name="study", restored=True) as study:
        tell(study, ask(study, 20).ids)
        ids = ask(study, 21).ids[5:]
        study.forget(ids[:3])
        tell(study, ids[3:7])
        study._store.ahead = lambda size: 2  # slots that are leased ahead, and given back in the end
        while not study._store.left(0):
            ask(study, 1)
    rows = rows_of(url)
    assert any(row.reserved < row.reached for row in rows.rounds)
    return rows


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Return a function from a kind of study to which changes are found and which are not."""

    @cache
    def outcome(case):
        rows = some_study(f"sqlite:///{tmp_path_factory.mktemp('study')}/study.db", case)
        assert faults_of(rows) == ()
        return found_and_not(rows)

    return outcome


def check(case, outcomes):
    """Whatever is not found is excused, and that is little."""
    found, missed = outcomes(case)
    assert [what for what in missed if not any(re.fullmatch(one, what) for one in excused(case))] == [], case
    assert sum(found.values()) > 2 * sum(missed.values())


@pytest.mark.timeout(7200 if SOAK else 600)
@pytest.mark.parametrize("case", ["unknown horizon", "segments"])  # of frames, and of probes
def test_every_change_of_every_column_is_found_but_for_those_that_cannot_be(case, outcomes):
    check(case, outcomes)


@pytest.mark.long
@pytest.mark.timeout(36000 if SOAK else 600)
def test_what_cannot_be_found_is_no_more_than_the_list_says(outcomes):
    """In studies of all kinds; and every entry of the list is needed by some: it does not excuse what is found."""
    for case in KINDS:
        check(case, outcomes)
    missed = {what for case in KINDS for what in outcomes(case)[1]}
    needless = INVISIBLE | OF_PROBES | OF_SEGMENTS | OF_SUMS
    assert [one for one in needless if not any(re.fullmatch(one, what) for what in missed)] == []


@pytest.mark.parametrize("case", ["fresh noise", "probes", "segments"])
@pytest.mark.parametrize("chained", [False, True])
def test_a_release_that_was_replaced_by_another_of_the_same_kind_is_found(chained, case, sqlite_url):
    """By as little as one step of the grid: every release is part of a checksum that is stored elsewhere.

    And by a hundredth if that fits as well, since what is believed does not follow from it.
    """
    rows = some_study(sqlite_url, case)
    first, second = (index for index, row in enumerate(rows.releases[:2]) if row.state == RELEASED)
    numbers = unpack(rows.releases[first].released)["numbers"]
    step = np.zeros_like(numbers)
    step[0, 0] = 1 + abs(numbers[0, 0]) // 100 if chained else 1
    other = with_record(rows, "releases", first, "released", chained=chained, numbers=numbers + step)
    words = "does not follow from the released rounds" if chained else "the chain is broken"
    assert any(words in fault for fault in faults_of(other))
    others = unpack(rows.releases[second].released)["numbers"]
    assert faults_of(with_record(rows, "releases", first, "released", chained=chained, numbers=others))


@pytest.mark.parametrize("case", ["unknown horizon", "probes, unknown horizon"])
def test_the_last_round_of_an_epoch_must_not_be_released(case, sqlite_url):
    rows = some_study(sqlite_url, case)
    index = next(index for index, row in enumerate(rows.releases) if row.state == UNRELEASED)
    numbers = unpack(rows.releases[index - 1].released)["numbers"]
    other = with_record(rows, "releases", index, "released", numbers=numbers)
    other = changed(other, "releases", index, "state", RELEASED)
    assert any("the last of its epoch" in fault for fault in faults_of(other))
