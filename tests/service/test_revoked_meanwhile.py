"""A key that is revoked while its request comes in: nothing of what comes later is carried out."""

import asyncio
import json

import pytest
from httpx2 import ASGITransport, AsyncClient

from sottovoce.service.app import create_app
from sottovoce.service.endpoints import _route
from sottovoce.service.settings import Settings

WISH = {
    "name": "spring",
    "domain": "hypersimplex:6,2",
    "horizon": 10_000,
    "losses": "linear",
    "integral": True,
    "privacy": {"epsilon": 1.0},
}


@pytest.fixture
def looks_often(monkeypatch):
    monkeypatch.setattr(_route, "AT_ONCE", -1.0)


@pytest.fixture
def service(sqlite_url, looks_often):
    """A service with a study, and a function that calls it, as the holder of an admin's key."""
    app = create_app(Settings(storage=sqlite_url, rate=0.001))  # ten calls of a key, and no more
    ring = app.state.context.gate.ring

    def run(test):
        async def whole():
            async with app.router.lifespan_context(app):
                transport = ASGITransport(app)
                async with AsyncClient(transport=transport, base_url="http://x") as client:
                    _, text = ring.create(["admin"])
                    admin = {"Authorization": f"Bearer {text}"}
                    assert (await client.post("/studies", json=WISH, headers=admin)).status_code == 201
                    await test(client, ring, admin)

        asyncio.run(whole())

    return run


def holder(ring, *roles):
    key, text = ring.create(roles)
    return key, {"Authorization": f"Bearer {text}"}


@pytest.mark.parametrize("what", ["ask", "tell", "forget", "create"])
def test_while_a_body_comes_in(service, what):
    async def test(client, ring, admin):
        action = (await client.post("/studies/spring/ask", headers=admin)).json()["id"]
        path, body = {
            "ask": ("/studies/spring/ask", {}),
            "tell": ("/studies/spring/tell", {"id": action, "loss": 0.5}),
            "forget": ("/studies/spring/forget", {"ids": [action]}),
            "create": ("/studies", {**WISH, "name": "autumn"}),
        }[what]
        before = (await client.get("/studies/spring/status", headers=admin)).json()
        key, headers = holder(ring, "admin")
        text = json.dumps(body).encode()

        async def slowly():
            yield text[:1]
            await asyncio.to_thread(ring.revoke, key.id)
            yield text[1:]

        assert (await client.post(path, content=slowly(), headers=headers)).status_code == 401
        assert (await client.get("/studies/spring/status", headers=admin)).json() == before
        assert len((await client.get("/studies", headers=admin)).json()["studies"]) == 1
        _, good = holder(ring, "admin")  # and otherwise it is carried out, however slowly it comes

        async def whole():
            yield text[:1]
            await asyncio.sleep(0.01)
            yield text[1:]

        assert (await client.post(path, content=whole(), headers=good)).status_code in (200, 201)

    service(test)
