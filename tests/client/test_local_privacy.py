"""Under local privacy no raw loss leaves, whatever a service says, and reports spend no more than was agreed."""

import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from sottovoce.errors import ConfigurationMismatch, InvalidLoss, ServiceError

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
    for report in (0.25, 0, 2, np.nan, 1e300):
        with pytest.raises(InvalidLoss, match=r"Is it a raw loss\?"):
            remote.tell(action.id, report=report)
    assert not stand_in.bodies("tell")


def test_reports_are_for_local_privacy(connected):
    remote = connected()
    with pytest.raises(TypeError, match="report= is for LocalDP"):
        remote.tell(remote.ask().id, report=1)
    with pytest.raises(AttributeError, match="there is a channel under LocalDP only"):
        remote.channel  # noqa: B018


# ---------------------------------------------------------------------- a service that lies


def test_a_service_that_says_it_wants_raw_losses_gets_one_only_from_who_said_so_in_words(connected, stand_in):
    """The study has local privacy, as everybody was told; who runs the service now says that it has none."""
    careful = connected(raw_losses=False)
    action = careful.ask()
    with pytest.raises(ConfigurationMismatch, match=r"connect\(\.\.\., raw_losses=True\)"):
        careful.tell(action.id, 0.715517155)
    for call in (lambda one: one.tell(action.id, 0.715517155), lambda one: one.channel):
        with pytest.raises(ConfigurationMismatch, match="wants raw losses; none was sent"):
            call(connected(privacy=sv.LocalDP(1.0)))
    assert not stand_in.bodies("tell")
    assert not any(b"7155171" in body for _, _, _, body in stand_in.requests)
    assert connected(raw_losses=True).tell(action.id, 0.5).recorded == 1
    with pytest.raises(ValueError, match="privacy= and raw_losses= contradict each other"):
        connected(raw_losses=True, privacy=sv.LocalDP(1.0))


def test_who_does_not_say_what_may_be_spent_spends_nothing(local, stand_in):
    with pytest.raises(TypeError, match=r"privacy=sv\.LocalDP"):
        local(privacy=None, raw_losses=False).channel  # noqa: B018
    with pytest.raises(TypeError, match="privacy must be LocalDP"):
        local(privacy=sv.PureDP(1.0))


@every("claimed", [1.0000001, 7.9, 8.1, 30.0])
def test_a_service_that_says_another_epsilon_is_not_obeyed(local, stand_in, claimed):
    """At epsilon = 8 a bit is right in 2,981 of 2,982 cases; above it nobody can agree, and there is no channel."""
    stand_in.channels = {"spring": CHANNEL.to_dict() | {"epsilon": claimed}}
    for privacy in (sv.LocalDP(1.0), sv.LocalDP(1.0, contributions=2), *([sv.LocalDP(30.0)] if claimed > 8 else [])):
        remote = local(privacy=privacy)
        action = remote.ask()
        for call in (lambda one: one.channel, lambda one: one.tell(action.id, report=1)):  # noqa: B023
            with pytest.raises((ConfigurationMismatch, ServiceError), match=r"nothing was reported|not a channel"):
                call(remote)
    assert not stand_in.bodies("tell")


KINDS = ("study-behind", "state-refused", "configuration-mismatch", "horizon-reached", "malformed", "no-channels")
PLAIN = ({}, {"kind": "none"}, {"kind": "one-bit"}, {"kind": "one-bit", "loss_range": "ab"})


@every(
    "answer",
    [
        *((409, {"type": f"/problems/{kind}", "status": 409, "detail": "no"}) for kind in KINDS),
        *((200, plain) for plain in PLAIN),
        *((status, None) for status in (409, 404, 500, 200)),
    ],
)
def test_an_answer_that_is_not_understood_does_not_set_raw_losses_free(connected, stand_in, answer):
    """Any other refusal that was taken for "no channel" would send raw losses to a study with local privacy."""
    remote, (status, plain) = connected(), answer
    action = remote.ask()
    stand_in.on_channel = lambda *_: answer
    if plain is None:
        stand_in.faults.append(status)
    with pytest.raises((sv.errors.SottovoceError, ValueError)):
        remote.tell(action.id, 0.25)
    assert not stand_in.bodies("tell")
