"""Clients that are slow, endless, huge, or speak HTTP in ways of their own: nothing grows, and nobody else notices."""

import os
import random
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hostility import Served, answer_of, connected, new_key, small_study

import sottovoce as sv

QUICK = """
from sottovoce.service import serving as connections
connections.SECONDS = 0.5
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rough")
    url = f"sqlite:///{folder / 'study.db'}"
    for name in ("spring", "other"):
        sv.Study.open(url, name=name, **small_study()).close()
    served = Served(url, folder, QUICK, largest_body=100_000, open_studies=4)
    served.key = new_key(url, ["admin"])[1]
    try:
        yield served.start()
    finally:
        served.kill()


def head(service, call, *lines, method="POST", version="1.1"):
    more = "".join(f"{line}\r\n" for line in lines)
    return f"{method} {call} HTTP/{version}\r\nHost: x\r\nAuthorization: Bearer {service.key}\r\n{more}\r\n".encode()


def memory(service):
    """Return the megabytes that the service holds."""
    with open(f"/proc/{service.process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024


def open_files(service):
    return len(os.listdir(f"/proc/{service.process.pid}/fd"))


def threads(service):
    return len(os.listdir(f"/proc/{service.process.pid}/task"))


def test_a_body_that_drips_after_its_answer_is_not_waited_for(service):
    """A request without a key is answered before its body is there: sending that for ever holds no connection."""
    with connected(service.port) as connection:
        connection.sendall(b"POST /studies/spring/tell HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
        connection.settimeout(0.05)
        found, closed = b"", False
        for _ in range(400):  # for twenty seconds, if nobody stops it
            try:
                connection.sendall(b" ")
                piece = connection.recv(65536)
            except TimeoutError:
                continue
            except ConnectionError:
                piece = b""
            if not piece:
                closed = True
                break
            found += piece
    assert found.startswith(b"HTTP/1.1 401")
    assert closed


def test_more_studies_than_may_be_open_are_served_all_the_same(service):
    """Many at once, in many threads, beyond what is kept open: every answer is right, and nothing accumulates."""
    names = [f"many {number}" for number in range(8)]

    def use(seed):
        rng = random.Random(seed)
        for _ in range(10):
            name = rng.choice(names)
            action = client.post(f"/studies/{name}/ask").json()
            told = client.post(f"/studies/{name}/tell", json={"id": action["id"], "loss": 0.5})
            assert told.status_code == 200, told.text

    with service.client(service.key) as client, ThreadPoolExecutor(4) as threads:
        for name in names:
            wish = {"name": name, "domain": "simplex:3", "horizon": 1000, "privacy": {"epsilon": 1.0}}
            assert client.post("/studies", json=wish).status_code in (200, 201)
        list(threads.map(use, range(4)))
        found = [client.get(f"/studies/{name}/status").json() for name in names]
    assert sum(one["asked"] for one in found) == sum(one["told"] for one in found) == 4 * 10
    assert open_files(service) < 100


def test_studies_that_do_not_exist_leave_nothing_behind(service):
    odd = ["n" * 60_000, "%2F" * 100, "%00", "%ED%A0%80", "%FF", "..%2F..", "%C3%BC" * 200, "%F0%9F%93%88"]
    with service.client(service.key) as client:
        for name in odd:
            answer = client.post(f"/studies/{name}/ask")
            assert answer.status_code in (404, 431), (name[:50], answer.text)
        before = memory(service), open_files(service), threads(service)
        for number in range(60):
            assert client.post(f"/studies/none {number}/ask").status_code == 404
            assert client.post(f"/studies/none {number}/tell", json={"id": "x", "loss": 0.5}).status_code == 404
    after = memory(service), open_files(service), threads(service)
    assert after[0] < before[0] + 10
    assert after[1] <= before[1] + 3
    assert after[2] <= before[2] + 3


def test_a_proxy_that_was_not_named_is_not_believed(service):
    """Whoever says that it speaks for an encrypted connection; tests/service/test_deployment.py has one that does."""
    said = {"Host": "decide.example", "X-Forwarded-Proto": "https"}
    with service.client() as client:
        answer = client.get("/", headers=said)
    assert (answer.status_code, "www-authenticate" in answer.headers) == (403, False)


def test_old_and_hasty_clients_are_answered(service):
    """HTTP/1.0, several requests in one piece, a wish for another protocol, one that waits to be told to go on."""
    close = "Connection: close"
    with connected(service.port) as connection:
        connection.sendall(head(service, "/studies/spring/status", method="GET", version="1.0"))
        assert answer_of(connection).startswith(b"HTTP/1.1 200")
    with connected(service.port) as connection:
        asks = [head(service, "/studies/spring/ask", "Content-Length: 2", *([close] * (n == 19))) for n in range(20)]
        connection.sendall(b"{}".join(asks) + b"{}")
        found = answer_of(connection)
    assert found.count(b"HTTP/1.1 200") == 20
    assert len(set(re.findall(rb'"id":"([^"]+)"', found))) == 20
    for wish in ("Upgrade: h2c", "Upgrade: websocket"):
        with connected(service.port) as connection:
            connection.sendall(head(service, "/studies/spring/ask", "Connection: keep-alive, Upgrade", wish))
            assert connection.recv(12) == b"HTTP/1.1 200"
        for more, body in (
            ("Content-Length: 10", b'{"size":3}'),
            ("Transfer-Encoding: chunked", b"2\r\n{}\r\n0\r\n\r\n"),
        ):
            with connected(service.port) as connection:  # whose body is not read: it would ask for one action
                connection.sendall(head(service, "/studies/spring/ask", "Connection: Upgrade", wish, more) + body)
                assert connection.recv(12) == b"HTTP/1.1 422"
    with connected(service.port) as connection:
        connection.sendall(head(service, "/studies/spring/ask", "Expect: 100-continue", "Content-Length: 2", close))
        assert connection.recv(65536).startswith(b"HTTP/1.1 100")
        connection.sendall(b"{}")
        assert answer_of(connection).startswith(b"HTTP/1.1 200")
    with connected(service.port) as connection:  # one request within another: the length is not to be argued about
        lines = ("Content-Length: 4", "Transfer-Encoding: chunked", close)
        connection.sendall(head(service, "/studies/spring/ask", *lines) + b"0\r\n\r\n" + head(service, "/metrics"))
        assert answer_of(connection).count(b"HTTP/1.1") == 1
