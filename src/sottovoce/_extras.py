"""Packages that an extra brings: imported where they are used, and missed in words that say what to install."""

import functools
import importlib
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sottovoce.errors import MissingExtra

_BRINGS = {
    "graphs": ("numba",),
    "lp": ("highspy",),
    "plots": ("matplotlib", "jinja2", "markupsafe"),
    "lab": ("filelock", "topohub"),
    "postgres": ("psycopg",),
    "client": ("httpx2",),
    "service": ("fastapi", "starlette", "pydantic", "uvicorn", "httptools", "uvloop", "prometheus_client"),
    "optuna": ("optuna",),
    "cluster": ("distributed",),
}
BROUGHT_BY = {package: extra for extra, packages in _BRINGS.items() for package in packages}
"""The extra of pyproject.toml that brings a package, by the name that it is imported by."""


def load(module: str, purpose: str) -> Any:
    """Return a package that an extra brings, or raise `MissingExtra`.

    Parameters
    ----------
    module
        The name that it is imported by.
    purpose
        What needs it: the error begins with this.
    """
    with naming_the_extra(purpose):
        return importlib.import_module(module)


@contextmanager
def naming_the_extra(purpose: str) -> Iterator[None]:
    """Raise `MissingExtra` in place of the import error of a package that an extra brings."""
    try:
        yield
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if package not in BROUGHT_BY:
            raise
        raise MissingExtra(f"{purpose} needs {package}, which is not installed. {_advice(package)}") from None


def data_frame(columns: dict[str, Any]) -> Any:
    """Return a pandas table of columns; pandas is for whoever has it, and none of the extras brings it."""
    try:
        pandas: Any = importlib.import_module("pandas")
    except ModuleNotFoundError:
        raise MissingExtra("to_frame() needs pandas, which is not installed: pip install pandas") from None
    return pandas.DataFrame(columns)


@functools.cache
def faster_with(module: str, slow: str) -> Any:
    """Return a package that makes something faster; without it return None, and warn once.

    Parameters
    ----------
    module
        The name that it is imported by.
    slow
        What is slower without it, as the beginning of a sentence.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name != module:
            raise
    warnings.warn(f"{slow} without {module}, which is not installed. {_advice(module)}", stacklevel=3)
    return None


def _advice(package: str) -> str:
    """Say how to get a package; `sottovoce` is on no index, so that its name alone installs nothing."""
    extra, version = BROUGHT_BY[package], sys.modules["sottovoce"].__version__
    return (
        f"The extra {extra!r} brings it: pip install '.[{extra}]' in a clone of sottovoce, or "
        f"pip install 'sottovoce-{version}-py3-none-any.whl[{extra}]' with its wheel"
    )
