"""`verify` finds nothing where nothing is wrong, and changes nothing."""

import threading
from pathlib import Path

import numpy as np
import pytest
from damaging import LOSS, OPTIONS, faults, open_in, play
from small_studies import curved

import sottovoce as sv
from sottovoce.studies import verify_stored


def test_a_finished_study_is_found_sound(tmp_path):
    with open_in(tmp_path, **OPTIONS) as study:
        play(study, 1000)
        found = study.verify()
    assert found.ok, str(found)
    assert found.rounds == found.released + 1  # the last round is never released
    assert found.chunks == 0
    assert found.point_distance <= found.point_tolerance
    assert str(found).startswith("Study 'a': ok\n")


def test_the_wrong_domain_is_found_and_a_custom_one_must_be_passed(tmp_path):
    def corner(cost):
        return (np.asarray(cost) < 0).astype(float)

    domain = sv.domains.Custom(corner, 3)
    with open_in(tmp_path, **{**OPTIONS, "domain": domain}) as study:
        play(study, 200)
        assert study.verify().ok
    assert "must be passed again" in faults(tmp_path)
    url = f"sqlite:///{tmp_path}/study.db"
    assert verify_stored(url, "a", domain=domain).ok
    assert "answers otherwise" in str(verify_stored(url, "a", domain=sv.domains.Simplex(3)))


def test_unknown_names_and_missing_files_are_errors(sound, tmp_path):
    with pytest.raises(sv.errors.StudyNotFound, match="'b'"):
        verify_stored(f"sqlite:///{sound}/study.db", "b")
    with pytest.raises(sv.errors.StorageError, match="there is no file"):
        verify_stored(f"sqlite:///{tmp_path}/none.db", "a")
    assert not (tmp_path / "none.db").exists()


def test_verifying_changes_nothing(sound):
    before = {file.name: file.read_bytes() for file in Path(sound).iterdir() if not file.name.endswith("-shm")}
    assert verify_stored(f"sqlite:///{sound}/study.db", "a").ok
    after = {file.name: file.read_bytes() for file in Path(sound).iterdir() if not file.name.endswith("-shm")}
    assert before == after


def test_on_postgresql(postgres_url):
    with sv.Study.open(postgres_url, name="a", **OPTIONS) as study:
        play(study, 300, size=100)
        study.tell(study.ask(20).ids[:7], np.full(7, LOSS))
        found = study.verify()
        assert found.ok, str(found)
        assert len(study.export()["rounds"]) == found.released > 0
        study._base.transaction(lambda: study._base.run("UPDATE sottovoce_rounds SET position = position + 1"))
    found = verify_stored(postgres_url, "a")
    assert "begins with event 1, not 0" in str(found)
    assert str(LOSS) not in str(found)


def test_verifying_between_the_calls_of_other_processes_sees_a_whole_study(url):
    """Rows are read at one moment: while another thread's study changes them, no fault is found."""
    with sv.Study.open(url, name="a", **{**OPTIONS, "horizon": 10**6, "patience": 150, "batch_size": 40}) as study:
        stop = threading.Event()

        def go_on():
            study._store.ahead = lambda size: 7
            while not stop.is_set():
                play(study, 100)
                study.ask(30)  # and nobody will tell them
                study._store.close()  # gives back what was leased ahead

        other = threading.Thread(target=go_on)
        other.start()
        try:
            found = [verify_stored(url, "a") for _ in range(10)]
        finally:
            stop.set()
            other.join()
    assert not [str(one) for one in found if not one.ok]


def test_a_last_round_that_ends_within_a_pass_over_its_decisions_is_found_sound(tmp_path):
    """Ten events of three decisions: what the fourth pass would have gone on with is on record nowhere."""
    with open_in(tmp_path, **{**OPTIONS, **curved(plan="auto", privacy=sv.PureDP(1.0), horizon=22)}) as study:
        play(study, 22)
        found = study.verify()
    assert (found.rounds, found.ok) == (2, True), str(found)
