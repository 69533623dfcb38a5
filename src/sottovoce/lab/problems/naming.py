"""Problems by the names that people write, with their settings."""

import inspect

from sottovoce._written import ParsedName, read
from sottovoce.lab.problems import PROBLEMS, DecisionProblem


def problem_name(text: str) -> str:
    """Return a problem as it is written everywhere, or say what is wrong with it."""
    named = read(text)
    _check_settings(named)
    return str(named)


def make_problem(text: str, *, seed: int) -> DecisionProblem:
    """Build the problem that `text` names; a seed among its settings goes before `seed`."""
    named = read(text)
    kind = _check_settings(named)
    settings = {"seed": seed, **dict(named.settings)}
    try:
        return kind(**settings)
    except (TypeError, ValueError) as problem:
        raise ValueError(f"problem {text!r}: {problem}") from problem


def _check_settings(named: ParsedName) -> type[DecisionProblem]:
    if named.name not in PROBLEMS:
        raise ValueError(f"problem must be one of {', '.join(sorted(PROBLEMS))}, got {named.name!r}")
    kind = PROBLEMS[named.name]
    known = list(inspect.signature(kind).parameters)
    for key, _ in named.settings:
        if key not in known:
            raise ValueError(f"problem {named.name} has no setting {key!r}; it has {', '.join(known)}")
    return kind
