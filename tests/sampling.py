"""Cases that are alike: all of them in one test, or a few in `make test` and every one in `make test-all`."""

import functools
import inspect

import pytest


def every(names, cases):
    """Try all cases in one test, which states one fact of them; a failure says of which it is not true.

    Called like `pytest.mark.parametrize`, for tests that are quick and need nothing set up anew for each case.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = [case if len(names) > 1 else (case,) for case in cases]

    def decorate(test):
        @functools.wraps(test)
        def tries_all(*place, **given):
            for row in rows:
                case = dict(zip(names, row, strict=True))
                try:
                    test(*place, **given, **case)
                except BaseException as problem:
                    problem.add_note(f"with {case}")
                    raise

        seen = inspect.signature(test)
        rest = [one for name, one in seen.parameters.items() if name not in names]
        tries_all.__signature__ = seen.replace(parameters=rest)
        return tries_all

    return decorate


def sampled(cases, few, ids=None):
    """Mark all cases as `long` but a few: so many, spread evenly; those at some places; or a set of ids.

    `ids` are the names of cases, or a function from a case to its name, as of `pytest.mark.parametrize`.
    """
    cases = list(cases)
    names = [None] * len(cases) if ids is None else [ids(case) for case in cases] if callable(ids) else list(ids)
    if isinstance(few, int):
        kept = {round(place * (len(cases) - 1) / max(few - 1, 1)) for place in range(few)}
    elif isinstance(few, list | range):
        kept = set(few)
    else:
        kept = {place for place, name in enumerate(names) if name in few}
        assert len(kept) == len(few), f"there is none called {set(few) - set(names)}"
    rows = [case if isinstance(case, tuple) else (case,) for case in cases]
    marks = [() if place in kept else pytest.mark.long for place in range(len(cases))]
    return [pytest.param(*row, id=name, marks=mark) for row, name, mark in zip(rows, names, marks, strict=True)]
