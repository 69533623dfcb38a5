"""Keys: made once, stored as hashes, refused alike whatever is wrong with them, and revoked everywhere at once."""

import asyncio
import contextlib
import hmac
import re
import subprocess
import sys
import threading

import pytest

from sampling import every
from sottovoce.errors import StorageError
from sottovoce.service.keys import Key, KeyStore, id_and_secret, secret_hash
from sottovoce.service.store import ServiceStore
from sottovoce.service.together import Together


class Clock:
    now = 1_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def ring(url, clock):
    with contextlib.closing(KeyStore(ServiceStore(url), clock=clock)) as made:
        yield made


@pytest.fixture
def quick(sqlite_url, clock):
    """A ring on SQLite, for what does not depend on the storage."""
    with contextlib.closing(KeyStore(ServiceStore(sqlite_url), clock=clock)) as made:
        yield made


def check(ring, *texts):
    async def all_of_them():
        return [await ring.check(text) for text in texts]

    found = asyncio.run(all_of_them())
    return found[0] if len(texts) == 1 else found


def test_a_key_is_what_it_was_made_as(ring):
    key, text = ring.create(["tell", "ask"], "spring", expires=60, note="the shop")
    assert re.fullmatch(r"sv_[a-z2-7]{12}_[A-Za-z0-9_-]{43}", text)
    assert "sv_{}_{}".format(*id_and_secret(text)) == text
    plain, other = ring.create("admin")
    assert check(ring, text, other, text) == [key, plain, key]
    assert key == Key(key.id, frozenset({"ask", "tell"}), "spring", 1e6, 1e6 + 60, None, "the shop")
    assert plain == Key(plain.id, frozenset({"admin"}), None, 1e6, None, None, "")
    assert sorted(ring.list(), key=lambda one: one.id) == sorted([key, plain], key=lambda one: one.id)


def test_the_secret_is_nowhere_in_the_storage(quick, shelf):
    key, text = quick.create(["ask"])
    quick.revoke(key.id)
    stored = b"".join(path.read_bytes() for path in shelf.iterdir())
    assert key.id.encode() in stored
    assert id_and_secret(text)[1].encode() not in stored
    assert secret_hash(id_and_secret(text)[1]) in stored  # so that the search would have found it
    assert text not in repr(key)


def test_every_kind_of_refusal_does_the_same_work(quick, monkeypatch):
    """One hash of as many letters, one read, one comparison, whatever is sent: nothing to tell them apart by time."""
    key, text = quick.create(["ask"])
    dead, gone = quick.create(["ask"])
    quick.revoke(dead.id)
    check(quick, text)
    done = []
    quick._reads._run = _noted(quick._reads._run, done, "read")
    monkeypatch.setattr("sottovoce.service.keys.secret_hash", _noted(secret_hash, done, "hash"))
    monkeypatch.setattr("hmac.compare_digest", _noted(hmac.compare_digest, done, "compare"))
    for sent in (gone, f"sv_{key.id}_{'A' * 43}", f"sv_{'a' * 12}_{'A' * 43}", "", None, "x" * 4000):
        done.clear()
        check(quick, sent)
        assert done == ["hash", "read", "compare"], sent


def _noted(function, done, word):
    def called(*arguments):
        done.append(word)
        return function(*arguments)

    return called


def test_revoking_twice_changes_nothing_and_nobodys_is_refused(ring, clock):
    key, text = ring.create(["ask"])
    first = ring.revoke(key.id)
    assert first.revoked == clock.now
    clock.now += 5
    assert ring.revoke(key.id) == first
    for unknown in ("a" * 12, "", text):
        with pytest.raises(ValueError, match="not that of a key") as refused:
            ring.revoke(unknown)
        assert text not in str(refused.value)


@every(
    ("arguments", "words"),
    [
        ({"roles": []}, "roles must be some of ask, tell, read, admin"),
        ({"roles": ["ask", "root"]}, "'root'"),
        ({"roles": ["ask"], "study": ""}, "name must be"),
        ({"roles": ["ask"], "expires": 0}, "expires must be"),
        ({"roles": ["ask"], "note": "a\nb"}, "note must be"),
        ({"roles": ["ask"], "note": "a" * 201}, "note must be"),
    ],
)
def test_what_no_key_can_be(quick, arguments, words):
    with pytest.raises(ValueError, match=words):
        quick.create(**arguments)
    assert quick.list() == []


# -- at once, everywhere ------------------------------------------------------------------------------------------

SECOND = """
import asyncio, sys
from sottovoce.service.keys import KeyStore
from sottovoce.service.store import ServiceStore
from sottovoce.service.together import Together
ring = KeyStore(ServiceStore(sys.argv[1]), clock=lambda: 1e6)
async def main():
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        print((await ring.check(line.strip())) is not None, flush=True)
asyncio.run(main())
ring.close()
"""


def test_another_process_sees_at_once_what_has_changed(ring, url):
    second = subprocess.Popen(
        [sys.executable, "-c", SECOND, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def accepts(text):
        second.stdin.write(text + "\n")
        second.stdin.flush()
        return second.stdout.readline().strip()

    kept, kept_text = ring.create(["ask"])
    for _ in range(20):
        key, text = ring.create(["ask"])
        assert accepts(text) == "True"
        ring.revoke(key.id)
        assert accepts(text) == "False"
    assert accepts(kept_text) == "True"
    assert second.communicate() == ("", None)
    assert second.returncode == 0
    assert check(ring, kept_text) == kept


def test_a_call_never_rests_on_a_run_that_began_before_it_and_one_who_gives_up_takes_nobody_along():
    """Whatever is true when a call is made, or becomes true later, is what it gets: no older truth."""
    truth, seen = [0], []
    gates = [threading.Event() for _ in range(3)]

    def read(wanted, deliver):
        found = truth[0]
        seen.append(found)
        gates[len(seen) - 1].wait(600)
        deliver([found] * len(wanted))

    reads = Together(read, "reads")

    async def calls():
        first, leaving = asyncio.create_task(reads(None)), asyncio.create_task(reads(None))
        while not seen:  # the run has begun, and has found 0
            await asyncio.sleep(0)
        leaving.cancel()
        truth[0] = 1
        late = [asyncio.create_task(reads(None)) for _ in range(50)]
        await asyncio.sleep(0)
        gates[0].set()
        assert await first == 0
        while len(seen) < 2:
            await asyncio.sleep(0)
        truth[0] = 2
        latest = asyncio.create_task(reads(None))
        await asyncio.sleep(0)
        gates[1].set()
        assert await asyncio.gather(*late) == [1] * 50
        gates[2].set()
        assert await latest == 2
        assert leaving.cancelled()

    asyncio.run(calls())
    assert seen == [0, 1, 2]
    reads.close()


def test_checks_go_on_when_the_database_comes_back(own_server, monkeypatch):
    monkeypatch.setattr("sottovoce.service.keys._FRESH", 0.0)  # each of them reads
    with contextlib.closing(KeyStore(ServiceStore(f"{own_server.url}/postgres"))) as ring:
        key, text = ring.create(["ask"])
        assert check(ring, text) == key
        own_server.stop()
        with pytest.raises(StorageError):
            check(ring, text)
        for _ in range(2):  # a connection that died unnoticed costs nobody an error
            own_server.start()
            assert check(ring, text) == key
            own_server.stop()
