"""A remote study is used like a study."""

import gc
import pickle
import socket
import ssl

import pytest

import sottovoce as sv
from sampling import every
from sottovoce.errors import ServiceError, StudyNotFound, UnknownAction


def test_numbers_that_are_not_0_travel_alone_and_are_a_decision_here(connected):
    remote = connected()
    assert remote.ask().x.tolist() == [1.0, 0.0, 0.0, 0.0]
    actions = remote.ask(2)
    assert actions.dimension == 4
    assert [one.tolist() for one in actions.indices] == [[1], [2]]
    assert [one.x.tolist() for one in actions] == actions.x.tolist() == [[0, 1, 0, 0], [0, 0, 1, 0]]
    assert pickle.loads(pickle.dumps(remote.ask(1))).x.tolist() == [[0, 0, 0, 1]]


def test_a_loss_that_is_on_record_is_no_failure_and_nothing_to_tell_sends_nothing(connected, stand_in):
    remote = connected()
    action = remote.ask()
    remote.tell(action.id, 0.5)
    assert remote.tell(action.id, 0.5) == (0, 1, 0)
    assert remote.tell([], []) == (0, 0, 0)
    assert len(stand_in.bodies("tell")) == 2


@every("x", [None, "1", [[1.0]], {}, (2, [2], [1.0]), (2, [-1], [1.0]), (2, [0], []), (2.5, [0], [1.0])])
def test_an_answer_that_is_no_decision_is_an_error(connected, stand_in, x):
    sparse = dict(zip(("dimension", "index", "value"), x, strict=True)) if isinstance(x, tuple) else x
    plain = {"id": "1.0.0.000000000000", "chosen": ["tea"], "x": sparse, "wants_loss": True}
    blocks = [(1, {"actions": [plain]}), (2, {"actions": [plain]}), (1, {})]
    for size, answer in ((None, plain), *blocks, (None, {"id": 7})):
        stand_in.on_ask = lambda *_, answer=answer: (200, answer)
        with pytest.raises(ServiceError, match="the service's answer is not"):
            connected().ask(size)


def test_errors_are_the_librarys_with_the_services_words(connected, key, stand_in):
    with pytest.raises(UnknownAction, match="not handed out by this study; nothing was recorded"):
        connected().tell("1.0.0.000000000000", 0.5)
    with pytest.raises(StudyNotFound, match="there is no such study"):
        connected(study="autumn").ask()
    with pytest.raises(ServiceError, match="a key is needed") as refused:
        connected(key="sv_other").ask()
    assert (refused.value.kind, refused.value.status) == ("unauthorised", 401)
    stand_in.faults.append(404)
    with pytest.raises(ServiceError, match="no sottovoce service"):
        connected().ask()


@every("name", ["spring, round 2", "a/b", "ü?#%", "..x"])
def test_names_of_studies_are_written_so_that_they_arrive(connected, stand_in, name):
    stand_in.channels = {name: None}
    assert stand_in.asked[connected(study=name).ask().id] == name


@every(
    ("wrong", "words"),
    [
        ({"url": "http://decide.example"}, "would carry losses and the key in clear"),
        ({"url": "http://127.0.0.1.decide.example"}, "in clear"),
        ({"url": "http://localhost.decide.example"}, "in clear"),
        ({"url": "ftp://decide.example"}, "url must be like"),
        ({"url": "decide.example"}, "url must be like"),
        ({"url": "https://"}, "url must be like"),
        ({"url": "https://decide.example:port"}, "url must be like"),
        ({"url": "https://user:secret@decide.example"}, "must not hold a user"),
        ({"url": "https://decide.example/?key=secret"}, r"without \? and #"),
        ({"url": "https://decide.example\n.evil.example"}, "url must be like"),
        *(({"study": study}, "must be the name") for study in ("", ".", "..", 7)),
        *(({"certificates": one}, "certificates must be") for one in (False, "no.pem", ssl.create_default_context())),
    ],
)
def test_what_is_no_address_no_study_and_no_authority_is_refused(wrong, words):
    with pytest.raises(ValueError, match=words) as refused:
        sv.connect(**{"url": "https://decide.example", "study": "spring", "key": "sv_x", **wrong})
    assert "secret" not in str(refused.value)


@every(
    ("url", "base"),
    [
        ("https://decide.example/", "https://decide.example"),
        ("https://decide.example/sv/", "https://decide.example/sv"),
        ("http://localhost:8420", "http://localhost:8420"),
        ("http://[::1]:8420", "http://[::1]:8420"),
        ("http://127.1.2.3", "http://127.1.2.3"),
        ("http://10.0.0.7", "http://10.0.0.7"),
    ],
)
def test_addresses_that_are_fine_and_that_another_machine_in_clear_has_to_be_said(url, base):
    with sv.connect(url, study="spring", insecure="10.0" in url) as remote:
        assert repr(remote) == f"RemoteStudy('spring' at '{base}')"


def test_a_remote_study_is_not_copied_and_not_used_after_it_is_closed(connected):
    remote = connected()
    with pytest.raises(TypeError, match="connect again"):
        pickle.dumps(remote)
    remote.close()
    with pytest.raises(ValueError, match="this connection is closed"):
        remote.ask()


def test_a_remote_study_need_not_be_closed(stand_in, key, monkeypatch):
    made, connect = [], socket.create_connection
    monkeypatch.setattr(
        socket, "create_connection", lambda *args, **options: made.append(connect(*args, **options)) or made[-1]
    )
    remote = sv.connect(stand_in.url, study="spring", key=key)
    remote.ask()
    del remote
    gc.collect()
    assert [one.fileno() for one in made] == [-1]
