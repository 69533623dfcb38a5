"""Runs that are ready to start by name."""

from pathlib import Path

from sottovoce.cli.settings import Settings, from_file

__all__ = ["READY", "find"]

READY: dict[str, Settings] = {
    "demo": Settings(also=("epsilon=0.1", "no-privacy", "plan=paper")),
    "moving-target": Settings(),
    "noisy-linear": Settings(environment="noisy-linear", domain="hypersimplex:20,5"),
    "switching": Settings(environment="switching", domain="hypersimplex:20,5"),
}


def find(name: str) -> tuple[str, Settings]:
    """Return the short name and the settings of a ready run, or of a TOML file.

    Examples
    --------
    >>> from sottovoce.cli.ready import find
    >>> find("switching")[1].domain
    'hypersimplex:20,5'
    """
    if name in READY:
        return name, READY[name]
    path = Path(name)
    if path.suffix != ".toml":
        raise ValueError(f"no ready run is named {name!r}: use one of {', '.join(READY)}, or a file that ends in .toml")
    if not path.is_file():
        raise ValueError(f"there is no file {name}")
    return path.stem, from_file(path, Settings())
