"""`sottovoce serve key`: a key is shown once, and what lists and revokes them shows no secret."""

import asyncio
import json

import pytest
import typer
from typer.testing import CliRunner

from sampling import every
from sottovoce.cli.serve import key_app, seconds_of
from sottovoce.service.keys import KeyStore
from sottovoce.service.store import ServiceStore

served = []
above = typer.Typer()
above.add_typer(key_app)


@above.callback(invoke_without_command=True)
def serve(context: typer.Context, storage: str | None = typer.Option(None)):
    if context.invoked_subcommand is None:
        served.append(storage)


@pytest.fixture
def command(sqlite_url, monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_STORAGE", sqlite_url)

    def call(*arguments, code=0):
        result = CliRunner().invoke(above, ["key", *arguments])
        assert result.exit_code == code, result.output
        return result if code else result.stdout

    return call


def check(url, text):
    ring = KeyStore(ServiceStore(url))
    found = asyncio.run(ring.check(text))
    ring.close()
    return found


def test_a_key_is_made_shown_once_listed_and_revoked(command, sqlite_url):
    made = json.loads(command("create", "--study", "spring", "--may", "ask,tell", "--expires", "90d", "--note", "shop"))
    key = check(sqlite_url, made["key"])
    assert key.id == made["id"]
    assert key.roles == {"ask", "tell"}
    assert (key.study, key.note) == ("spring", "shop")
    assert key.expires - key.created == 90 * 86400
    for form in ("--json", "--text"):
        listed = command("list", form)
        assert made["id"] in listed
        assert made["key"] not in listed
        assert made["key"][-43:] not in listed
    assert json.loads(command("list"))["keys"] == [{name: made[name] for name in made if name != "key"}]
    assert json.loads(command("revoke", made["id"]))["state"] == "revoked"
    assert check(sqlite_url, made["key"]) is None
    assert "REVOKED" in command("list", "--text")


def test_words_for_people(command):
    said = command("create", "--all-studies", "--may", "admin", "--expires", "never", "--text")
    assert said.startswith("sv_")
    assert "shown once" in said
    assert "may admin for all studies, without end" in said


def test_whoever_has_only_the_whole_key_can_revoke_it(command, sqlite_url):
    text = json.loads(command("create", "--all-studies", "--may", "read"))["key"]
    assert text not in command("revoke", text)
    assert check(sqlite_url, text) is None


@every(
    ("arguments", "words"),
    [
        (["create", "--may", "ask"], "pass --study NAME, or --all-studies"),
        (["create", "--may", "ask", "--study", "spring", "--all-studies"], "one of them"),
        (["create", "--may", "ask,fly", "--all-studies"], "'fly'"),
        (["create", "--may", ",", "--all-studies"], "roles must be some of"),
        (["create", "--may", "ask", "--all-studies", "--expires", "soon"], "expires must be a time"),
        (["create", "--may", "ask", "--all-studies", "--expires", "-1d"], "expires must be a time"),
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
    assert "pass --storage" in str(CliRunner().invoke(above, ["key", "list"]).exception)


def test_the_storage_may_be_named_before_and_the_server_alone(sqlite_url, monkeypatch):
    monkeypatch.delenv("SOTTOVOCE_STORAGE", raising=False)
    result = CliRunner().invoke(above, ["--storage", sqlite_url, "key", "list"])
    assert json.loads(result.stdout) == {"keys": []}
    assert served == []
    assert CliRunner().invoke(above, ["--storage", sqlite_url]).exit_code == 0
    assert served == [sqlite_url]


def test_times():
    assert seconds_of(" 1D ") == 86400
    for text in ("", "0d", "d", "1", "1y", "1e3d", "nan", "inf"):
        with pytest.raises(ValueError, match="expires must be"):
            seconds_of(text)
