"""From what options say to the domain that they ask for, and from files to what is in them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sottovoce._parsing import written_domain
from sottovoce._written import listed
from sottovoce.domains import Domain
from sottovoce.domains.specification import build
from sottovoce.models import Features, Posterior


@contextmanager
def _reading(file: Path, what: str) -> Iterator[None]:
    """Say what keeps a file from being read, and what it should hold."""
    try:
        yield
    except FileNotFoundError:
        raise ValueError(f"there is no file {file}, with {what}") from None
    except OSError as problem:
        raise ValueError(f"{file} cannot be read: {problem.strerror}") from None
    except RecursionError:
        raise ValueError(f"{file} does not hold {what}: it is nested too deeply") from None
    except (AttributeError, TypeError, ValueError) as problem:
        raise ValueError(f"{file} does not hold {what}: {problem}") from None


def domain_of(text: str | None, file: Path | None) -> Domain:
    """Return the domain that is written as text, or stands in a file as `specify` writes it."""
    if (text is None) == (file is None):
        raise ValueError("pass either --domain or --domain-json")
    if file is None:
        return written_domain(text)
    with _reading(file, "a domain as sottovoce.domains.specification.specify writes it"):
        return build(json.loads(file.read_text(encoding="utf-8")))


def labels_of(given: str) -> list[str]:
    """Return names that are written with commas between them, or stand in a file, one a line.

    Examples
    --------
    >>> labels_of("tea, coffee")
    ['tea', 'coffee']
    """
    if "," in given:
        return listed(given)
    with _reading(Path(given), "names, one on each line (or write them with commas between)"):
        lines = Path(given).read_text(encoding="utf-8-sig").splitlines()
    return [line.strip() for line in lines if line.strip()]


def features_of(file: Path) -> Features:
    """Return the features in a CSV file, a row of numbers for each coordinate."""
    with _reading(file, "features, a row of numbers for each coordinate"):
        lines = file.read_text(encoding="utf-8-sig").splitlines()
        return Features([[float(entry) for entry in line.split(",")] for line in lines if line.strip()])


def prior_of(file: Path) -> Posterior:
    """Return what an earlier study believed, from the file that it was saved to."""
    with _reading(file, "what a study believed"):
        return Posterior.load(file)
