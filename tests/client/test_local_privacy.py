"""Under local privacy no raw loss leaves, whatever a service says, and a loss is privatised once."""

import json

import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from sottovoce.client import TellQueue
from sottovoce.client._reports import KeptReports
from sottovoce.client.tell_queue import Destination
from sottovoce.errors import ConfigurationMismatch, InvalidLoss, ServiceAway, ServiceError

CHANNEL = sv.local.OneBitChannel((0.0, 1.0), epsilon=1.0)


@pytest.fixture
def local(stand_in, connected):
    stand_in.channels = {"spring": CHANNEL.to_dict()}
    return lambda **options: connected(**{"privacy": sv.LocalDP(1.0)} | options)


def test_reports_are_told(local, stand_in):
    remote = local()
    assert remote.channel == CHANNEL
    actions = remote.ask(20)
    reports = sv.local.privatise(np.linspace(0, 1, 20), remote.channel)
    assert remote.tell(actions.ids, report=reports).recorded == 20
    assert list(stand_in.told.values()) == reports.tolist()
    assert b"loss" not in b"".join(stand_in.bodies("tell"))


def test_a_raw_loss_is_refused_in_the_words_of_a_study_and_nothing_is_sent(local, stand_in):
    remote = local()
    action = remote.ask()
    for arguments in ({"losses": 0.25}, {"losses": 0.25, "report": 1}, {}):
        with pytest.raises(TypeError, match="under LocalDP a raw loss is refused: privatise it where it is born"):
            remote.tell(action.id, **arguments)
    assert not stand_in.bodies("tell")


@every("report", [0.25, 0, 2, np.nan, 1e300])
def test_what_is_no_report_is_refused_here(local, stand_in, report):
    remote = local()
    with pytest.raises(InvalidLoss, match=r"Is it a raw loss\?"):
        remote.tell(remote.ask().id, report=report)
    assert not stand_in.bodies("tell")


def test_reports_are_for_local_privacy(connected):
    remote = connected()
    with pytest.raises(TypeError, match="report= is for LocalDP"):
        remote.tell(remote.ask().id, report=1)
    with pytest.raises(AttributeError, match="there is a channel under LocalDP only"):
        remote.channel  # noqa: B018
    with pytest.raises(ConfigurationMismatch, match="wants raw losses; none was sent"):
        remote.tell_privately("a", 0.5, privacy=sv.LocalDP(1.0))


def test_told_privately_only_reports_leave(local, stand_in):
    remote = local()
    actions = remote.ask(50)
    remote.tell_privately(actions.ids, np.full(50, 0.715517155))
    assert set(stand_in.told.values()) <= {-1, 1}
    assert not any(b"7155171" in body for _, _, _, body in stand_in.requests)


def test_a_loss_is_privatised_once_however_often_it_is_told(local, stand_in):
    """The chance that fresh reports would agree by accident, 40 of them each time, is below 2^-20."""
    remote = local()
    actions, _ = remote.ask(40), remote.channel
    losses = np.full(40, 0.5)
    stand_in.faults.extend(["before", "after", "before", "before"])  # the answer never comes
    with pytest.raises(ServiceAway):
        remote.tell_privately(actions.ids, losses)
    remote.tell_privately(actions.ids, losses)
    remote.tell_privately(actions.ids, 1 - losses)
    sent = [json.loads(body)["reports"] for body in stand_in.bodies("tell")]
    assert len(sent) == 6
    assert all(one == sent[0] for one in sent)
    assert remote.tell_privately(actions.ids[3], 0.0).already == 1
    assert json.loads(stand_in.bodies("tell")[-1])["report"] == sent[0][3]


def test_with_a_queue_not_even_another_process_privatises_a_loss_again(local, stand_in, tmp_path):
    """As after a SIGKILL: 40 reports that agree by chance come once in 2^40."""
    first = local(queue=tmp_path / "tells.db")
    actions, losses = first.ask(40), np.full(40, 0.5)
    first.tell_privately(actions.ids, losses)
    first.close()
    local(queue=tmp_path / "tells.db").tell_privately(actions.ids[::-1], 1 - losses)
    there, again = (json.loads(body)["reports"] for body in stand_in.bodies("tell"))
    assert again == there[::-1]


def test_the_oldest_reports_are_let_go_of_in_a_file_as_well(tmp_path, monkeypatch):
    monkeypatch.setattr("sottovoce.client.tell_queue._REPORTS_KEPT", 3)
    queue, to = TellQueue(tmp_path / "tells.db"), Destination("http://127.0.0.1", "spring")
    assert queue.reports(to, list("abcdef"), lambda place: place) == (0, 1, 2, 3, 4, 5)
    assert queue.reports(to, list("defab"), lambda place: 9) == (3, 4, 5, 9, 9)
    assert queue.reports(to, list("fab"), lambda place: 7) == (5, 9, 9)
    assert queue.reports(Destination(to.service, "autumn"), ["b"], lambda place: 8) == (8,)


def test_the_oldest_reports_are_let_go_of():
    kept = KeptReports(most=3)
    for one in "abcdef":
        kept.of([one], [0.5], CHANNEL)
    assert kept.of("fed", [0.5] * 3, CHANNEL) == kept.of("fed", [0.1] * 3, CHANNEL)
    assert len(kept._kept) == 3
    assert len(kept.of([str(i) for i in range(9)], [0.5] * 9, CHANNEL)) == 9  # more at once than are kept


# ---------------------------------------------------------------------- a service that lies


def test_a_service_that_says_it_wants_raw_losses_gets_one_only_from_who_said_so_in_words(connected, stand_in):
    """The study has local privacy, as everybody was told; who runs the service now says that it has none."""
    careful = connected(raw_losses=False)
    action = careful.ask()
    with pytest.raises(ConfigurationMismatch, match=r"connect\(\.\.\., raw_losses=True\)"):
        careful.tell(action.id, 0.715517155)
    with pytest.raises(ConfigurationMismatch, match="none was sent"):
        careful.tell_privately(action.id, 0.715517155, privacy=sv.LocalDP(1.0))
    assert not stand_in.bodies("tell")
    assert not any(b"7155171" in body for _, _, _, body in stand_in.requests)
    assert connected(raw_losses=True).tell(action.id, 0.5).recorded == 1
    with pytest.raises(ValueError, match="privacy= and raw_losses= contradict each other"):
        connected(raw_losses=True, privacy=sv.LocalDP(1.0))


def test_raw_losses_that_wait_are_delivered_only_by_who_said_so_in_words(connected, stand_in, tmp_path):
    first = connected(queue=tmp_path / "tells.db")
    actions = first.ask(2)
    first.tell(actions.ids[0], 0.5)
    stand_in.away = True
    assert first.tell(actions.ids[1], 0.25).queued == 1
    first.close()
    stand_in.away = False
    with pytest.raises(ConfigurationMismatch, match="raw_losses=True"):
        connected(queue=tmp_path / "tells.db", raw_losses=False).flush()
    assert list(stand_in.told) == [actions.ids[0]]
    connected(queue=tmp_path / "tells.db").flush()
    assert stand_in.told[actions.ids[1]] == 0.25


def test_who_does_not_say_what_may_be_spent_spends_nothing(connected, stand_in):
    stand_in.channels = {"spring": CHANNEL.to_dict()}
    for remote in (connected(raw_losses=False), connected(raw_losses=True)):
        action = remote.ask()
        with pytest.raises(TypeError, match=r"privacy=sv\.LocalDP"):
            remote.tell_privately(action.id, 0.25)
        with pytest.raises(TypeError, match="privacy must be LocalDP"):
            remote.tell_privately(action.id, 0.25, privacy=sv.PureDP(1.0))
    with pytest.raises(TypeError, match=r"privacy=sv\.LocalDP"):
        connected(raw_losses=False).channel  # noqa: B018
    assert not stand_in.bodies("tell")


@every("claimed", [1.0000001, 7.9, 8.1, 30.0])
@every("at", ["connect", "tell"])
def test_a_service_that_says_another_epsilon_is_not_obeyed(connected, stand_in, claimed, at):
    stand_in.channels = {"spring": CHANNEL.to_dict() | {"epsilon": claimed}}
    remote = connected(privacy=sv.LocalDP(1.0)) if at == "connect" else connected(raw_losses=False)
    mine = {} if at == "connect" else {"privacy": sv.LocalDP(1.0)}
    action = remote.ask()
    with pytest.raises((ConfigurationMismatch, ServiceError)):
        remote.tell_privately(action.id, 0.25, **mine)
    assert not stand_in.bodies("tell")


def test_nobody_can_agree_to_a_report_that_hides_nothing(connected, stand_in):
    """At epsilon = 8 a bit is right in 2,981 of 2,982 cases; above it there is no privacy to speak of."""
    stand_in.channels = {"spring": {"kind": "one-bit", "loss_range": [0.0, 1.0], "epsilon": 8.5}}
    remote = connected(privacy=sv.LocalDP(30.0))
    with pytest.raises(ServiceError, match="not a channel"):
        remote.tell_privately(remote.ask().id, 0.25)
    assert not stand_in.bodies("tell")


@every("fault", [409, 404, 500, 200, (200, {"Content-Type": "text/html"})])
def test_an_answer_that_is_not_understood_does_not_set_raw_losses_free(connected, stand_in, fault):
    """Any other refusal that was taken for "no channel" would send raw losses to a study with local privacy."""
    remote = connected()
    action = remote.ask()
    stand_in.faults.append(fault)
    with pytest.raises(ServiceError):
        remote.tell(action.id, 0.25)
    assert not stand_in.bodies("tell")


@every(
    "kind", ["study-behind", "state-refused", "configuration-mismatch", "horizon-reached", "malformed", "no-channels"]
)
def test_nor_does_another_problem(connected, stand_in, kind):
    remote = connected()
    action = remote.ask()
    stand_in.on_channel = lambda *_: (409, {"type": f"/problems/{kind}", "status": 409, "detail": "no"})
    with pytest.raises((sv.errors.SottovoceError, ValueError)):
        remote.tell(action.id, 0.25)
    assert not stand_in.bodies("tell")


@every("plain", [{}, {"kind": "none"}, {"kind": "one-bit"}, {"kind": "one-bit", "loss_range": "ab"}])
def test_a_channel_that_is_none_is_an_error(local, stand_in, plain):
    stand_in.channels["spring"] = plain
    with pytest.raises(ServiceError, match="not a channel"):
        local().channel  # noqa: B018


def test_a_service_that_wants_more_than_was_agreed_gets_nothing(local, stand_in):
    remote = local(privacy=sv.LocalDP(1.0))
    action = remote.ask()
    assert remote.tell_privately(action.id, 0.3).recorded == 1
    for privacy in (sv.LocalDP(0.9), sv.LocalDP(1.5, contributions=2)):
        remote = local(privacy=privacy)
        with pytest.raises(ConfigurationMismatch, match="nothing was reported"):
            remote.tell_privately(remote.ask().id, 0.3)
    stand_in.channels["spring"] = None
    remote = local(privacy=sv.LocalDP(1.0))
    with pytest.raises(ConfigurationMismatch, match="wants raw losses; none was sent"):
        remote.tell(remote.ask().id, 0.3)
    assert len(stand_in.bodies("tell")) == 1
    with pytest.raises(TypeError, match="privacy must be LocalDP"):
        local(privacy=sv.PureDP(1.0))
