"""Domains as plain data, to be kept and made again; and a fingerprint for those that cannot be.

A domain is specified by its family and the arguments it was made with: numbers, texts, arrays, graphs, other domains
and matroids of this library. What holds a function of the user's own cannot be written down; it has to be
passed again, and the answers of its oracle show whether it is the same.
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from sottovoce import domains
from sottovoce._arrays import Floats
from sottovoce.domains._arguments import RemembersArguments
from sottovoce.domains.base import Domain

_QUESTIONS = 8
_HOMES: dict[str, Any] = {"domains": domains, "matroids": domains.matroids}  # whose classes can be written down
# What was written down, with the answers: with many coordinates that takes a while. What is plain data never changes.
_specified: "WeakKeyDictionary[Domain, tuple[dict[str, Any], Floats]]" = WeakKeyDictionary()
_NOT_PLAIN = (ValueError, TypeError, KeyError, AttributeError, LookupError)


def specify(domain: Domain) -> dict[str, Any] | None:
    """Return a domain as plain data that JSON can hold, or None if it holds a function of the user's own.

    Examples
    --------
    >>> import sottovoce as sv
    >>> specify(sv.domains.Hypersimplex(20, 5))
    {'made': ['domains', 'Hypersimplex', {'n': 20, 'k': 5}]}
    >>> specify(sv.domains.Simplex(["tea", "coffee"]))
    {'made': ['domains', 'Simplex', {'n': ['tea', 'coffee']}]}
    >>> specify(sv.domains.Custom(lambda cost: -np.sign(cost), 3)) is None
    True
    """
    if domain in _specified:
        return _specified[domain][0]
    try:
        data: dict[str, Any] = _plain(domain)
        answers = fingerprint(domain)
        made_again = build(data)
        if not same_answers(answers, fingerprint(made_again)) or made_again.labels != domain.labels:
            return None
    except _NOT_PLAIN:
        return None
    answers.setflags(write=False)
    _specified[domain] = data, answers
    return data


def build(data: dict[str, Any]) -> Domain:
    """Return the domain that `specify` wrote down.

    Examples
    --------
    >>> build({"made": ["domains", "Hypersimplex", {"n": 20, "k": 5}]})
    Hypersimplex(20, 5)
    """
    domain = _built(data)
    if not isinstance(domain, Domain):
        raise ValueError(f"the specification is not of a domain, but of {domain!r}")
    return domain


def fingerprint(domain: Domain) -> Floats:
    """Return the oracle's answers to a few costs, which are fixed for ever (no generator of random numbers is)."""
    if domain in _specified:
        return _specified[domain][1]
    costs = (_cost(domain.dimension, i) for i in range(_QUESTIONS))
    return np.array([domain.extreme_point(cost) for cost in costs], dtype=np.float64)


def same_answers(one: Floats, other: Floats) -> bool:
    """Say whether two fingerprints are of one domain."""
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=1e-6, atol=1e-9))


def plain_labels(labels: Sequence[Any] | None) -> list[Any] | None:
    """Return names as plain data; those of another kind than texts, numbers and tuples of these by their text."""
    return None if labels is None else [_plain_label(label) for label in labels]


def _plain_label(label: Any) -> Any:
    if isinstance(label, tuple):
        return {"tuple": [_plain_label(one) for one in label]}
    return _plain(label) if isinstance(label, str | int | float | np.generic) else str(label)


def labels_from(data: list[Any] | None) -> tuple[Any, ...] | None:
    """Return the names that `plain_labels` wrote down, and nothing else: files may come from anybody."""
    if not isinstance(data, list | None):
        raise ValueError("names must be in a list")
    return None if data is None else tuple(_label_from(one) for one in data)


def _label_from(data: Any) -> Any:
    if isinstance(data, dict) and list(data) == ["tuple"] and isinstance(data["tuple"], list):
        return tuple(_label_from(one) for one in data["tuple"])
    if isinstance(data, dict) and list(data) == ["float"]:
        return float(data["float"])
    if not isinstance(data, str | int | float):
        raise ValueError("a name must be a text, a number or a tuple of these")
    return data


def as_stored(labels: Sequence[Any] | None) -> tuple[Any, ...] | None:
    """Return names as they are after they were stored, to be compared with others that were.

    Examples
    --------
    >>> from datetime import date
    >>> as_stored(["tea", ("a", 1), date(2026, 3, 1)])
    ('tea', ('a', 1), '2026-03-01')
    """
    return labels_from(plain_labels(labels))


def _cost(dimension: int, number: int) -> Floats:
    """Return a cost with entries between -1 and 1, by hashing: the same on every machine, in every version."""
    words = b"".join(hashlib.blake2b(b"%d %d" % (number, i)).digest() for i in range(math.ceil(dimension / 8)))
    return np.frombuffer(words, dtype="<u8")[:dimension] / 2.0**63 - 1.0


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.ndarray):
        return {"array": _plain(value.ravel().tolist()), "shape": value.shape, "type": value.dtype.str}
    if isinstance(value, list | set | frozenset):
        return [_plain(one) for one in value]
    if isinstance(value, RemembersArguments):
        return _plain_object(value)
    if hasattr(value, "edges") and hasattr(value, "is_directed"):  # a graph of networkx
        return [_plain(tuple(edge[:2])) for edge in value.edges]
    if isinstance(value, Sequence):
        return {"tuple": [_plain(one) for one in value]}
    if isinstance(value, dict):
        return {"dict": [[_plain(key), _plain(one)] for key, one in value.items()]}
    if hasattr(value, "toarray"):  # a sparse matrix
        return _plain(value.toarray())
    if hasattr(value, "tolist"):  # such as a pandas Index
        return _plain(value.tolist())
    raise TypeError(f"{type(value).__name__} cannot be written down")


def _plain_object(value: RemembersArguments) -> dict[str, Any]:
    home, name = type(value).__module__.split("."), type(value).__name__
    for where, module in _HOMES.items():
        if home[:2] == ["sottovoce", "domains"] and getattr(module, name, None) is type(value):
            return {"made": [where, name, {key: _plain(one) for key, one in value.made_with.items()}]}
    raise TypeError(f"{name} is not a class of this library")


def _built(data: Any) -> Any:
    if isinstance(data, list):
        return [_built(one) for one in data]
    if not isinstance(data, dict):
        return data
    (kind, value), *rest = data.items()
    if kind == "array":
        shape, dtype = (one for _, one in rest)
        return np.array(_built(value), dtype=dtype).reshape(shape)
    if kind not in _BUILDERS:
        raise ValueError(f"the specification of a domain holds {kind!r}, which this version does not know")
    return _BUILDERS[kind](value)


def _made(where: str, name: str, arguments: dict[str, Any]) -> Any:
    if where not in _HOMES:
        raise ValueError(f"the specification of a domain names {where!r}, which this version does not know")
    home = _HOMES[where]
    family = getattr(home, name, None)
    if not (isinstance(family, type) and issubclass(family, RemembersArguments)):
        known = ", ".join(one for one in sorted(home.__all__) if isinstance(getattr(home, one), type))
        raise ValueError(f"the specification of a domain names {name!r}; this version knows {known}")
    return family(**{key: _built(one) for key, one in arguments.items()})


_BUILDERS: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "tuple": lambda value: tuple(_built(value)),
    "dict": lambda value: {_built(key): _built(one) for key, one in value},
    "made": lambda value: _made(*value),
}
