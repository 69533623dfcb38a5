"""TLS is checked: a certificate that nobody vouches for gets neither a key nor a loss."""

import ssl

import pytest

import sottovoce as sv
from sottovoce.errors import ServiceAway


@pytest.fixture
def secure(stand_in, certificate):
    """The stand-in, with TLS; its address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    stand_in.server.socket = context.wrap_socket(stand_in.server.socket, server_side=True)
    stand_in.server.handle_error = lambda *_: None  # who hangs up in the middle of a handshake is expected
    return stand_in.url.replace("http:", "https:")


def test_a_certificate_that_is_not_trusted_is_refused_and_it_is_said_why(secure, stand_in, key, quick):
    with sv.connect(secure, study="spring", key=key, retries=quick) as remote:
        with pytest.raises(ServiceAway, match=r"ConnectError: .*CERTIFICATE_VERIFY_FAILED"):
            remote.ask()
        assert not stand_in.requests


def test_one_that_is_named_is_trusted_for_its_own_name_alone(secure, certificate, stand_in, key, quick):
    for trusted in (certificate[0], str(certificate[0])):
        with sv.connect(secure, study="spring", key=key, certificates=trusted, raw_losses=True) as remote:
            assert remote.tell(remote.ask().id, 0.5).recorded == 1
    before = len(stand_in.requests)
    elsewhere = secure.replace("127.0.0.1", "localhost")
    other = sv.connect(elsewhere, study="spring", key=key, certificates=certificate[0], retries=quick)
    with other as remote, pytest.raises(ServiceAway, match="CERTIFICATE"):
        remote.ask()
    assert len(stand_in.requests) == before
