"""One self-contained HTML file: it asks nothing of the network, and works from disk, on a phone, and on paper."""

import base64
import hashlib
import os
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import BaseLoader, ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sottovoce import __version__
from sottovoce._disk import write_atomically
from sottovoce.report._palette import GREY, SHADES


def templates(*folders: BaseLoader) -> Environment:
    """Return the templates. Everything that is put into them is escaped, unless it was built by `charts`.

    Parameters
    ----------
    folders
        Of other pages, which come first.
    """
    found = Environment(
        loader=ChoiceLoader([*folders, PackageLoader("sottovoce.report.html")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals.update(shades=SHADES, grey=GREY)
    return found


@cache
def _own() -> Environment:
    return templates()


def style() -> str:
    """Return the style sheet that all pages share, with the colours of the one palette."""
    return _own().get_template("style.css").render()


def script() -> str:
    """Return the script that all pages share: colours, read-outs over charts, sorting."""
    return _own().get_template("script.js").render()


def page_of(template: str, content: dict[str, Any]) -> str:
    """Fill a template.

    The page forbids itself to load anything, and to run any script but its own, which is named by its hash: text that
    slipped through as markup would still be harmless.
    """
    acting = script()
    digest = base64.b64encode(hashlib.sha256(acting.encode()).digest()).decode()
    given = {"script": Markup(acting), "script_hash": Markup(digest), "version": __version__, **content}
    return _own().get_template(template).render(given)


def write_page(path: str | os.PathLike[str], template: str, content: dict[str, Any]) -> Path:
    """Fill a template and write the page."""
    return write_atomically(path, page_of(template, content).encode())
