"""Where commands write: looked at before anything is simulated, so that no work is lost and no other run's is."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from sottovoce._extras import load
from sottovoce.errors import MissingExtra

_OWN = ("summary.json", "report.html", "regret.png")  # what `run` writes in any case


def check_writable(out: Path, what: str = "out") -> None:
    """Refuse a folder that cannot be written to, or cannot be made; leave no trace."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"{what} must be a folder, and {out} is a file")
    there = out.absolute()
    while not there.exists():
        there = there.parent
    if not there.is_dir():
        raise ValueError(f"{what} must be a folder, and {there} is a file")
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as problem:
        raise OSError(f"{what}: {out} cannot be written to: {problem.strerror}") from None


def can_draw(console: Console) -> bool:
    """Say whether figures can be drawn; if not, say what would have to be installed."""
    try:
        load("matplotlib", "the figure")
    except MissingExtra as missing:
        console.print(f"nothing is drawn: {missing}", soft_wrap=True, highlight=False, markup=False)
        return False
    return True


def check_free(out: Path, settings: Mapping[str, Any], *, force: bool) -> None:
    """Refuse a folder that holds other runs than these, unless that is wished for; the same ones may be run again."""
    there = [name for name in _OWN if (out / name).exists()]
    if force or not there or _settings_in(out) == settings:
        return
    raise ValueError(
        f"{out} holds {'another run' if 'summary.json' in there else there[0]}, which would be overwritten: "
        "choose another folder (--out), or pass --force"
    )


def _settings_in(out: Path) -> Any:
    """Return the settings of the runs in a folder; None if there are none."""
    try:
        return json.loads((out / "summary.json").read_text(encoding="utf-8"))["settings"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
