"""A key that is revoked while its request comes in: nothing of what comes later is carried out."""

import json
import threading

import pytest

from sottovoce.service.endpoints import _route


@pytest.mark.parametrize("what", ["ask", "tell", "forget", "create"])
def test_while_a_body_comes_in(serve, sqlite_url, monkeypatch, what):
    reading, read = threading.Event(), _route.read_body

    async def noted(*arguments):
        reading.set()
        return await read(*arguments)

    monkeypatch.setattr(_route, "AT_ONCE", -1.0)
    monkeypatch.setattr(_route, "read_body", noted)
    served = serve(storage=sqlite_url, dev=False, rate=0.001)  # ten calls of a key, and no more
    ring = served.app.state.context.gate.ring

    def holder():
        key, text = ring.create(["admin"])
        return key, {"Authorization": f"Bearer {text}"}

    served.client.headers.update(holder()[1])
    served.create()
    action = served.ask()["id"]
    path, body = {
        "ask": ("/studies/spring/ask", {}),
        "tell": ("/studies/spring/tell", {"id": action, "loss": 0.5}),
        "forget": ("/studies/spring/forget", {"ids": [action]}),
        "create": ("/studies", {"name": "autumn", "domain": "ball:3", "horizon": 100, "privacy": {"epsilon": 1.0}}),
    }[what]
    before, text = served.look("status"), json.dumps(body).encode()

    def slowly(meanwhile):
        yield text[:1]
        assert reading.wait(600)  # its key was looked at
        meanwhile()
        yield text[1:]

    key, headers = holder()
    reading.clear()
    assert served.client.post(path, content=slowly(lambda: ring.revoke(key.id)), headers=headers).status_code == 401
    assert served.look("status") == before
    assert len(served.client.get("/studies").json()["studies"]) == 1
    reading.clear()
    _, good = holder()  # and otherwise it is carried out, however slowly it comes
    assert served.client.post(path, content=slowly(list), headers=good).status_code in (200, 201)
