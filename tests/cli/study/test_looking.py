"""Looking at studies from a shell: what there is, and studies whose noise is simulated."""

import pytest

import sottovoce as sv
from sampling import every

MAKING = {"domain": sv.domains.Hypersimplex(6, 2), "horizon": 400, "loss_range": (0, 1), "losses": "linear"}
URL = "sqlite:///study.db"


@pytest.fixture
def simulated(place):
    """A study with simulated noise, 300 losses told and 20 outstanding."""
    noise = sv.SimulatedNoise(5)
    with sv.Study.open(URL, name="played", privacy=sv.PureDP(1.0), noise=noise, seed=1, **MAKING) as study:
        actions = study.ask(300)
        study.tell(actions.ids, actions.x[:, 0])
        study.ask(20)
        return study.status()


def test_a_study_with_simulated_noise_is_looked_at(simulated, found, command):
    stands = found("status", "played")
    assert (stands["told"], stands["round"]) == (simulated.told, simulated.round)
    assert stands["round"] > 0
    assert "NOT PRIVATE" in stands["privacy"]
    assert found("outstanding", "played")["outstanding"] == 20
    assert len(found("export", "played")["rounds"]) >= stands["round"]
    assert found("recommend", "played")["rounds"] > 0
    assert found("enough", "played", "--within", "0.2")["words"].startswith(("Enough", "Not enough"))
    assert found("verify", "played")["ok"]
    assert found("status", "played") == stands  # and looking has changed nothing


@every("call", [("ask",), ("tell", "--file", "-"), ("forget", "1.0.0.ab")])
def test_asking_and_telling_need_its_noise(call, simulated, refused):
    assert "noise of study 'played' is simulated" in refused(call[0], "played", *call[1:])


def test_whoever_only_looks_closes_no_round(place, found, monkeypatch):
    """A round that is overdue is left to those who have the noise."""
    noise = sv.SimulatedNoise(5)
    with monkeypatch.context() as patch:
        patch.setattr(sv.Study, "_tend", lambda _: None)  # as if the process died at once: the round stays overdue
        with sv.Study.open(URL, name="late", privacy=sv.PureDP(1.0), noise=noise, deadline=1e6, **MAKING) as study:
            ids = study.ask_round().ids
            study.tell(ids[:-1], [0.5] * (len(ids) - 1))
            study.change(deadline=1e-6)
    assert found("status", "late")["round"] == 0
    assert found("outstanding", "late")["outstanding"] == 1
    with sv.Study.open(URL, name="late", noise=noise) as study:
        assert study.status().round == 1


def test_what_a_storage_holds_is_listed(simulated, found, command):
    found("create", "ever", "--domain", "ball:3", "--horizon", "unknown", "--epsilon", "0.5")
    ever, played = found("list")["studies"]
    assert (ever["name"], ever["horizon"], ever["privacy"]) == (
        "ever",
        None,
        "epsilon = 0.5, pure differential privacy",
    )
    assert (played["asked"], played["rounds"], played["simulated"]) == (320, simulated.round, True)
    assert command("list", "--text")[1].splitlines()[1].endswith("(simulated noise: NOT PRIVATE)")


def test_a_storage_that_is_not_there_is_not_made(place, refused):
    assert "there is no file" in refused("list")
    assert not (place / "study.db").exists()


def test_a_study_is_moved_renamed_and_deleted(found, refused, command, place):
    with sv.Study.open(URL, name="spring", privacy=sv.PureDP(1.0), **MAKING) as study:
        action = study.ask()
        study.tell(action.id, 0.5)
    assert found("move", "spring", "--to", URL)["told"] == 1
    assert found("move", "spring", "--to", "sqlite:///other.db")["told"] == 1
    assert "'spring' was moved to sqlite:///other.db: open it there" in refused("status", "spring")
    assert found("rename", "spring", "autumn", "--storage", "sqlite:///other.db")["study"] == "autumn"
    assert command("delete", "autumn", "--storage", "sqlite:///other.db")[0] == 2
    assert found("delete", "autumn", "--storage", "sqlite:///other.db", "--yes")["deleted"]
    assert found("list", "--storage", "sqlite:///other.db")["studies"] == []
