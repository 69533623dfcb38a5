"""From what options say to the domain that they ask for, and from files to what is in them."""

import json
from collections.abc import Sequence
from pathlib import Path

from sottovoce._parsing import written_domain
from sottovoce.domains import Domain
from sottovoce.domains.specification import build
from sottovoce.models import Features, Posterior


def domain_of(text: str | None, file: Path | None) -> Domain:
    """Return the domain that is written on the command line, or in a file."""
    if (text is None) == (file is None):
        raise ValueError("pass either --domain or --domain-json")
    if file is None:
        return written_domain(text)
    try:
        return build(json.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise ValueError(f"there is no file {file}") from None
    except RecursionError:
        raise ValueError(f"{file} does not hold a domain: it is nested too deeply") from None
    except (json.JSONDecodeError, UnicodeDecodeError, AttributeError, TypeError, ValueError) as problem:
        raise ValueError(
            f"{file} does not hold a domain as sottovoce.domains.specification.specify writes it: {problem}"
        ) from None


def labels_of(given: str | Sequence[str]) -> list[str]:
    """Return names that are written with commas between them, or stand in a file, one a line.

    Examples
    --------
    >>> labels_of("tea, coffee")
    ['tea', 'coffee']
    """
    if not isinstance(given, str):
        return list(given)
    if "," in given:
        return [name.strip() for name in given.split(",")]
    try:
        lines = Path(given).read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        raise ValueError(
            f"labels must be names with commas between them, or a file with one a line; there is no file {given}"
        ) from None
    except OSError as problem:
        raise ValueError(f"labels: {given} cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"labels: {given} is not a text in UTF-8, with a name on each line") from None
    return [line.strip() for line in lines if line.strip()]


def features_of(file: Path) -> Features:
    """Return the features in a file: a row of numbers for each coordinate, with commas between them."""
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
        return Features([[float(entry) for entry in line.split(",")] for line in lines if line.strip()])
    except FileNotFoundError:
        raise ValueError(f"there is no file {file}") from None
    except (OSError, ValueError) as problem:
        raise ValueError(f"{file} does not hold features, a row of numbers for each coordinate: {problem}") from None


def prior_of(file: Path) -> Posterior:
    """Return the posterior in a file."""
    try:
        return Posterior.load(file)
    except FileNotFoundError:
        raise ValueError(f"there is no file {file}") from None
    except OSError as problem:
        raise ValueError(f"{file} cannot be read: {problem.strerror}") from None
