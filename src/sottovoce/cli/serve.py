"""`sottovoce serve`: studies over HTTP."""

import inspect
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, datetime
from typing import Annotated, Any, get_type_hints

import typer
from rich.console import Console

from sottovoce._extras import naming_the_extra
from sottovoce.cli.options import spelled
from sottovoce.cli.shared import AsJson, Url, show, storage_url
from sottovoce.privacy import NoiseSource
from sottovoce.service.keys import ROLES, Key, KeyStore, id_and_secret
from sottovoce.service.settings import Settings
from sottovoce.service.store import ServiceStore

# ----------------------------------------------------------------------
# `sottovoce serve key`: who may call a service, with which roles, for how long.


_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_LONGEST = 1e11  # seconds: what is further away is no date any more

key_app = typer.Typer(
    name="key",
    help="Keys of a service: make, list and revoke them; a revoked one is refused at once by every worker.",
    no_args_is_help=True,
)


@key_app.command("create")
def create(
    context: typer.Context,
    may: Annotated[
        str, typer.Option(metavar="ROLES", help=f"What it is for: {', '.join(ROLES)}, with commas between.")
    ],
    study: Annotated[str | None, typer.Option(metavar="NAME", help="The study that it is for.")] = None,
    all_studies: Annotated[
        bool, typer.Option("--all-studies", help="For all studies instead, those to come as well.")
    ] = False,
    expires: Annotated[str, typer.Option(metavar="TIME", help="How long it lives: 90d, 12h, 30m, or never.")] = "90d",
    note: Annotated[str, typer.Option(help="What it is for, in your words.")] = "",
    storage: Url = None,
    as_json: AsJson = None,
) -> None:
    """Make a key. It is shown now and never again: only a hash of it is stored."""
    if (study is None) != all_studies:
        raise ValueError("pass --study NAME, or --all-studies: one of them")
    roles = [role.strip() for role in may.split(",") if role.strip()]
    with _opened(context, storage) as ring:
        key, text = ring.create(roles, study, seconds_of(expires), note)
    words = f"{text}\n\nThis is shown once: keep it where secrets are kept. {_words(key)}"
    show(as_json, {"key": text, **_facts(key)}, words)


@key_app.command("list")
def list_all(context: typer.Context, storage: Url = None, as_json: AsJson = None) -> None:
    """List the keys: what each may do, for how long, and whether it is still good. Secrets are stored nowhere."""
    with _opened(context, storage) as ring:
        keys = ring.list()
    words = "\n".join(map(_words, keys)) or "There are no keys yet; see `sottovoce serve key create`."
    show(as_json, {"keys": [_facts(key) for key in keys]}, words)


@key_app.command("revoke")
def revoke(
    context: typer.Context,
    id: Annotated[str, typer.Argument(metavar="ID", help="The key's public part, as `list` shows it.")],
    storage: Url = None,
    as_json: AsJson = None,
) -> None:
    """Refuse a key from now on, on all workers, and in all browsers."""
    public, _ = id_and_secret(id)  # the whole key, by somebody who has only that
    with _opened(context, storage) as ring:
        key = ring.revoke(public or id)
    show(as_json, _facts(key), _words(key))


def seconds_of(text: str) -> float | None:
    """Read how long something lives: a number of days, hours, minutes or seconds; None for ever.

    Examples
    --------
    >>> [seconds_of(text) for text in ("90d", "1.5h", "30m", "2w", "45s", "never")]
    [7776000.0, 5400.0, 1800.0, 1209600.0, 45.0, None]
    """
    if text.strip().lower() == "never":
        return None
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smhdw])", text.strip().lower())
    seconds = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    if not 0 < seconds < _LONGEST:
        raise ValueError(f"expires must be a time such as 90d, 12h, 30m or 45s, or never, got {text!r}")
    return seconds


@contextmanager
def _opened(context: typer.Context, storage: str | None) -> Iterator[KeyStore]:
    """Yield the keys of a storage, which may be named before `key` as well."""
    above: Any = context.parent
    while storage is None and above is not None:
        storage, above = above.params.get("storage"), above.parent
    ring = KeyStore(ServiceStore(storage_url(storage)))
    try:
        yield ring
    finally:
        ring.close()


def _facts(key: Key) -> dict[str, Any]:
    lives = key.lives(datetime.now(UTC).timestamp())
    return {
        "id": key.id,
        "may": [role for role in ROLES if role in key.roles],
        "study": key.study,
        "state": "revoked" if key.revoked is not None else "good" if lives else "expired",
        "created": _when(key.created),
        "expires": _when(key.expires),
        "revoked": _when(key.revoked),
        "note": key.note,
    }


def _words(key: Key) -> str:
    facts = _facts(key)
    where = "all studies" if key.study is None else f"study {key.study!r}"
    until = "without end" if key.expires is None else f"until {facts['expires']}"
    state = "" if facts["state"] == "good" else f"  {facts['state'].upper()} {facts['revoked'] or ''}".rstrip()
    note = f"  ({key.note})" if key.note else ""
    return f"{key.id}  may {', '.join(facts['may'])} for {where}, {until}{note}{state}"


def _when(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


serve_command = typer.Typer(
    name="serve",
    help="Serve studies over HTTP, with a dashboard; `serve key` makes the keys that callers need.",
    invoke_without_command=True,
    add_completion=False,
)

serve_command.add_typer(key_app)


# Types of settings that are written otherwise on a command line.
_WRITTEN: dict[Any, Any] = {tuple[str, ...]: list[str] | None, int | NoiseSource | None: int | None}


def _options() -> list[inspect.Parameter]:
    """Return the options of the command: the service's settings, as they are declared."""
    hints, found = get_type_hints(Settings), []
    for one in fields(Settings)[1:]:  # the first is the storage
        about, kind = one.metadata, hints[one.name]
        flags = [about["written"]] if about["written"] else ["--dev"] if kind is bool else []
        option = typer.Option(*flags, help=about["help"], rich_help_panel=about["group"])
        given = inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if kind in _WRITTEN else one.default,
            annotation=Annotated[_WRITTEN.get(kind, kind), option],
        )
        found.append(given)
    return found


def serve_here(context: typer.Context, storage: Url = None, **given: Any) -> None:
    """Serve studies over HTTP until it is stopped."""
    if context.invoked_subcommand is not None:
        return
    with naming_the_extra("the service"):
        from sottovoce.service.serving import check, serve
    given["port"] = given["port"] or _free_port(given["host"])
    given |= {name: tuple(given[name] or ()) for name in ("origins", "proxies")}
    settings = Settings(storage=storage_url(storage), **given)
    check(settings)
    _announce(settings.dev, settings.certificate is not None, settings.host, settings.port)
    serve(settings)


_named = list(inspect.signature(serve_here, eval_str=True).parameters.values())[:-1]
serve_command.callback()(spelled(serve_here, [*_named, *_options()]))


def _free_port(host: str) -> int:
    """Return a port that nobody listens at, so that it can be said before anybody does."""
    with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as one:
        return int(one.getsockname()[1])


def _announce(dev: bool, encrypted: bool, host: str, port: int) -> None:
    say = Console(stderr=True)
    shown = f"[{host}]" if ":" in host else host
    say.print(f"serving at http{'s' if encrypted else ''}://{shown}:{port}", markup=False, highlight=False)
    if dev:
        say.print(
            "DEVELOPMENT: there are no keys. Whoever can reach this port on this machine may ask, tell, create and "
            "look at everything. Never put a proxy before it.",
            style="bold red",
            markup=False,
        )
