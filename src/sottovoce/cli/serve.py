"""`sottovoce serve`: studies over HTTP."""

import socket
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from sottovoce._extras import naming_the_extra
from sottovoce.cli.serve_key import key_app
from sottovoce.cli.study_shared import Url, storage_url

__all__ = ["serve_app"]

_server, _limit, _network = (partial(typer.Option, rich_help_panel=name) for name in ("Server", "Limits", "Network"))

serve_app = typer.Typer(
    name="serve",
    help="Serve studies over HTTP, with a dashboard; `serve key` makes the keys that callers need.",
    invoke_without_command=True,
    add_completion=False,
)

serve_app.add_typer(key_app)


@serve_app.callback()
def serve_command(
    context: typer.Context,
    storage: Url = None,
    host: Annotated[str, _server(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, _server(help="Where to listen; 0 for any that is free.")] = 8420,
    workers: Annotated[int, _server(help="Processes; several are for PostgreSQL.")] = 1,
    dev: Annotated[bool, _server("--dev", help="Without keys, on this machine alone.")] = False,
    simulated_noise: Annotated[int | None, _server(help="With --dev: a seed; studies made so are NOT PRIVATE.")] = None,
    audits: Annotated[Path | None, _server(help="A folder with audits, for the dashboard.")] = None,
    grace: Annotated[float, _server(help="Seconds for calls in flight when it stops.")] = 30.0,
    rate: Annotated[float, _limit(help="Requests a second of a key, for long.")] = 1000.0,
    largest_body: Annotated[int, _limit(help="Bytes of a request.")] = 1 << 22,
    largest_block: Annotated[int, _limit(help="Actions of a call.")] = 10_000,
    open_studies: Annotated[int, _limit(help="Studies that a worker keeps open.")] = 32,
    cors: Annotated[
        list[str] | None, _network(help="An origin whose pages may call. Repeatable; none by default.")
    ] = None,
    trust_proxy: Annotated[
        list[str] | None, _network(help="A proxy whose X-Forwarded headers are believed. Repeatable.")
    ] = None,
    certificate: Annotated[Path | None, _network(help="For TLS.")] = None,
    private_key: Annotated[Path | None, _network(help="For TLS.")] = None,
) -> None:
    """Serve studies over HTTP until it is stopped."""
    if context.invoked_subcommand is not None:
        return
    with naming_the_extra("the service"):
        from sottovoce.service.serving import check, serve
        from sottovoce.service.settings import Settings
    port = port or _free_port(host)
    settings = Settings(
        storage=storage_url(storage),
        host=host,
        port=port,
        workers=workers,
        dev=dev,
        rate=rate,
        largest_body=largest_body,
        largest_block=largest_block,
        open_studies=open_studies,
        origins=tuple(cors or ()),
        proxies=tuple(trust_proxy or ()),
        certificate=None if certificate is None else str(certificate),
        private_key=None if private_key is None else str(private_key),
        audits=None if audits is None else str(audits),
        simulated=simulated_noise,
        grace=grace,
    )
    check(settings)
    _announce(settings.dev, settings.certificate is not None, host, port)
    serve(settings)


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
