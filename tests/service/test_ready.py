"""GET /ready needs no key: so however many ask, it is little work; and it says when the storage is away."""

import asyncio

from httpx2 import ASGITransport, AsyncClient

from sottovoce.service.app import create_app
from sottovoce.service.settings import Settings


def test_many_who_ask_together_share_a_look(sqlite_url):
    app = create_app(Settings(storage=sqlite_url))
    context, looks = app.state.context, []

    def counted(read):
        def look(wanted):
            looks.append(read)
            return read(wanted)

        return look

    for reads in (context.entries, context._answers):
        reads._read = counted(reads._read)

    async def calls():
        async with (
            app.router.lifespan_context(app),
            AsyncClient(transport=ASGITransport(app), base_url="http://x") as client,
        ):
            return await asyncio.gather(*(client.get("/ready") for _ in range(200)))

    assert {answer.status_code for answer in asyncio.run(calls())} == {200}
    assert len(looks) <= 20


def test_it_says_when_the_storage_is_away_and_when_it_is_back(own_server):
    app = create_app(Settings(storage=f"{own_server.url}/postgres"))

    async def calls():
        async with (
            app.router.lifespan_context(app),
            AsyncClient(transport=ASGITransport(app), base_url="http://x") as client,
        ):
            found = [(await client.get("/ready")).status_code]
            await asyncio.to_thread(own_server.stop)
            away = await client.get("/ready")
            found.append(away.status_code)
            assert away.json()["type"] == "/problems/storage-error"
            assert "127.0.0.1" not in away.text
            await asyncio.to_thread(own_server.start)
            while (status := (await client.get("/ready")).status_code) == 503:
                found.append(status)
            return [*found, status]

    found = asyncio.run(calls())
    assert found[:2] == [200, 503]
    assert found[-1] == 200
    assert len(found) <= 5  # a lost connection is noticed once by each that has one
