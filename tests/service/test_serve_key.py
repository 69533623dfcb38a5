"""`sottovoce serve key`: a key is shown once, and what lists and revokes them shows no secret."""

import asyncio
import contextlib
import json

import pytest
from typer.testing import CliRunner

from sampling import every
from sottovoce.cli.app import app
from sottovoce.cli.serve import key_app, seconds_of
from sottovoce.service.keys import KeyStore
from sottovoce.service.store import ServiceStore


@pytest.fixture
def command(sqlite_url, monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_STORAGE", sqlite_url)

    def call(*arguments, code=0):
        result = CliRunner().invoke(key_app, arguments)
        assert result.exit_code == code, result.output
        return result if code else result.stdout

    return call


def check(url, text):
    with contextlib.closing(KeyStore(ServiceStore(url))) as ring:
        return asyncio.run(ring.check(text))


def test_a_key_is_made_shown_once_listed_and_revoked(command, sqlite_url):
    made = json.loads(command("create", "--study", "spring", "--may", "ask,tell", "--expires", "90d", "--note", "shop"))
    key = check(sqlite_url, made["key"])
    assert (key.id, key.roles, key.study, key.note) == (made["id"], {"ask", "tell"}, "spring", "shop")
    assert key.expires - key.created == 90 * 86400
    for form in ("--json", "--text"):
        listed = command("list", form)
        assert made["id"] in listed
        assert made["key"][-43:] not in listed
    assert json.loads(command("list"))["keys"] == [{name: made[name] for name in made if name != "key"}]
    assert json.loads(command("revoke", made["id"]))["state"] == "revoked"
    assert check(sqlite_url, made["key"]) is None
    assert "REVOKED" in command("list", "--text")


def test_words_for_people_and_whoever_has_only_the_whole_key_can_revoke_it(command, sqlite_url):
    said = command("create", "--all-studies", "--may", "admin", "--expires", "never", "--text")
    text = said.split()[0]
    assert text.startswith("sv_")
    assert "shown once" in said
    assert "may admin for all studies, without end" in said
    assert text not in command("revoke", text)
    assert check(sqlite_url, text) is None


@every(
    ("arguments", "words"),
    [
        (["create", "--may", "ask"], "pass --study NAME, or --all-studies"),
        (["create", "--may", "ask", "--study", "spring", "--all-studies"], "one of them"),
        (["create", "--may", "ask,fly", "--all-studies"], "'fly'"),
        (["create", "--may", ",", "--all-studies"], "roles must be some of"),
        (["create", "--may", "ask", "--all-studies", "--expires", "99999999w"], "expires must be a time"),
        (["revoke", "a" * 12], "not that of a key"),
    ],
)
def test_what_is_refused(command, arguments, words):
    refused = command(*arguments, code=1)
    assert isinstance(refused.exception, ValueError)
    assert words in str(refused.exception)
    assert json.loads(command("list")) == {"keys": []}


def test_no_storage_says_how_to_name_one(monkeypatch):
    monkeypatch.delenv("SOTTOVOCE_STORAGE", raising=False)
    assert "pass --storage" in str(CliRunner().invoke(key_app, ["list"]).exception)


def test_the_storage_may_be_named_before(sqlite_url, monkeypatch):
    monkeypatch.delenv("SOTTOVOCE_STORAGE", raising=False)
    result = CliRunner().invoke(app, ["serve", "--storage", sqlite_url, "key", "list"])
    assert json.loads(result.stdout) == {"keys": []}


def test_times():
    assert seconds_of(" 1D ") == 86400
    for text in ("", "0d", "d", "1", "1y", "1e3d", "nan", "inf", "-1d"):
        with pytest.raises(ValueError, match="expires must be"):
            seconds_of(text)
