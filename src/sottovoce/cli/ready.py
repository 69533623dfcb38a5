"""Runs that are ready to start by name."""

from pathlib import Path

from sottovoce._written import bare_name
from sottovoce.cli.settings import RunSettings, from_file
from sottovoce.lab.problems import PROBLEMS
from sottovoce.lab.problems.naming import make_problem

HORIZON = 200_000  # of the runs of problems
DEMO = 500_000  # and of the demo

READY: dict[str, RunSettings] = {
    "demo": RunSettings(
        environment="noisy-linear",
        domain="hypersimplex:20,5",
        horizon=DEMO,
        losses="linear",
        integral=True,
        seed=2,  # the world changes about half way then
        also=("epsilon=0.1", "no-privacy", "plan=worst-case", "plan=paper"),
        beside=f"switching:every={DEMO},moods=2",
    ),
    "moving-target": RunSettings(),
    "noisy-linear": RunSettings(environment="noisy-linear", domain="hypersimplex:20,5"),
    "switching": RunSettings(environment="switching", domain="hypersimplex:20,5"),
}


def of_problem(name: str) -> RunSettings:
    """Return the settings of a decision problem, beside the same without privacy."""
    problem = make_problem(name, seed=0)
    play = problem.settings().get("play", "inside")
    return RunSettings(
        environment=name,
        horizon=HORIZON,
        losses=problem.losses,
        integral=problem.integral,
        play=play,
        also=("no-privacy",),
    )


def find(name: str) -> tuple[str, RunSettings]:
    """Return the short name and the settings of a ready run, of a decision problem, or of a TOML file.

    Examples
    --------
    >>> from sottovoce.cli.ready import find
    >>> find("switching")[1].domain
    'hypersimplex:20,5'
    """
    if name in READY:
        return name, READY[name]
    if bare_name(name) in PROBLEMS:
        return bare_name(name), of_problem(name)
    path = Path(name)
    if path.suffix != ".toml":
        known = ", ".join([*READY, *PROBLEMS])
        raise ValueError(f"no ready run is named {name!r}: use one of {known}, or a file that ends in .toml")
    if not path.is_file():
        raise ValueError(f"there is no file {name}")
    return path.stem, from_file(path, RunSettings())
