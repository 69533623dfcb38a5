"""`verify` invents nothing: no honest history, however its losses came and its processes died, shows a fault."""

import pytest
from histories import CASES, wander
from mutations import faults_of, rows_of, with_record
from small_studies import SOAK

import sottovoce as sv
from sampling import sampled
from sottovoce._records import unpack

SEEDS = range(20 if SOAK else 2)
LOOKS = (15, 45) if SOAK else (8, 20)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "case",
    sampled(CASES, {"frames", "designs, every loss", "probes", "segments, unknown horizon", "probes on a ball"}, str),
)
def test_an_honest_history_has_no_fault_at_any_moment(case, shelf):
    released = 0
    for seed in SEEDS:
        found = wander(shelf, case, seed, LOOKS)
        assert not [str(one) for one in found if not one.ok], f"seed {seed}"
        released += found[-1].released
    assert released > len(SEEDS)


def late_losses(url, rounds, late):
    """Play rounds whose losses come `late` rounds late, in a box: points are its corners, and come again and again."""
    domain = sv.domains.Box([0.0, 0.0], [1.0, 1.0])
    arguments = {"domain": domain, "horizon": 10_000, "loss_range": (0.0, 1.0), "privacy": sv.PureDP(1.0), "seed": 1}
    arguments |= {"exploration": "frames", "batch_size": 2, "step": 9.0, "noise": sv.SimulatedNoise(3)}
    waiting = []
    with sv.Study.open(url, name="study", **arguments) as study:
        for _ in range(rounds):
            waiting.append(study.ask_round().ids)
            if len(waiting) > late:
                study.tell(waiting.pop(0), [0.5, 0.5])
        return study.verify()


@pytest.mark.parametrize("late", [0, 3, 12])
def test_points_that_come_again_are_no_fault(late, sqlite_url):
    found = late_losses(sqlite_url, 60, late)
    assert found.ok, str(found)
    assert found.released == 60 - late


def test_a_round_cannot_have_learned_from_what_was_not_released(sqlite_url):
    late_losses(sqlite_url, 20, 3)
    rows = rows_of(sqlite_url)
    public = [unpack(bytes(row.public)) for row in rows.rounds]
    other = next(one for one in range(5, 20) if (public[one]["point"] != public[one - 1]["point"]).any())
    for learned in (public[other]["learned"] - 1, public[other]["learned"] + 4, other + 1, -1):
        found = faults_of(with_record(rows, "rounds", other, "public", learned=learned))
        assert any("which cannot be" in fault or "does not follow" in fault for fault in found), learned
