"""Sweeps that were never run, with figures that are known, and a reader of pages."""

import math
from dataclasses import dataclass, field
from html.parser import HTMLParser

import numpy as np
import pytest

from sottovoce.lab import Cell, Result, Run, RunDetails, Sweep
from sottovoce.lab.sweeps.swept import write_record
from sottovoce.privacy import NoPrivacy, PureDP

VOID = {"meta", "img", "br", "link", "input", "hr"}
SIMULATED = "epsilon = {:g}, pure differential privacy (SIMULATED NOISE: NOT PRIVATE)"


def a_run(cell, regret, never, headline, power=0.5):
    """A run whose curves end at the given regrets, which grow with a power of the events."""
    events = np.linspace(cell.horizon / 50, cell.horizon, 50).astype(np.int64)
    shape = (events / cell.horizon) ** power
    best = 0.1 * events.astype(float)
    details = RunDetails(
        domain="Ball(3)",
        environment="Invented(seed=0)",
        privacy_headline=headline,
        simulated_noise="SIMULATED" in headline,
        seed=cell.seed,
        rounds=50,
        oracle_calls=7,
        seconds=0.25,
        horizon=cell.horizon,
        certificate=1e-9,
        guarantee=NoPrivacy() if math.isinf(cell.epsilon) else PureDP(cell.epsilon),
        plan_rows=(("method", "frames with probe-sums"), ("regret", "at most 0.5 per event")),
        privacy_rows=(("Private", "one event's loss."), ("Promise", headline)),
    )
    lost = best + regret * shape, best, best + never * events / cell.horizon
    return Run(events, events // 10, *lost, details)


def write_sweep(
    folder, cells, *, command="sottovoce compare", failed=(), missing=(), headline=SIMULATED, error="broken"
):
    """Write a sweep to disk as `sweep` would, with regrets that a formula gives."""
    sweep = Sweep.create(folder, cells, command=command)
    for number, cell in enumerate(sweep.cells):
        if number in missing:
            continue
        if number in failed:
            write_record(sweep.record_path(cell), Result(cell, "failed", error=error, seconds=0.1))
            continue
        regret = (
            cell.horizon**0.75 * (1 + 0.3 / min(cell.epsilon, 50.0)) * (1 + 0.07 * math.sin(1 + 3 * cell.seed + number))
        )
        words = "no privacy: NOT PRIVATE" if math.isinf(cell.epsilon) else headline.format(cell.epsilon)
        never = 0.4 * cell.horizon * (1 + 0.01 * cell.seed)
        result = Result(cell, "done", "", 9, regret, never, 2.5 * regret, 1e-9, 50, 7, 0.1 + 0.01 * number, words)
        write_record(sweep.record_path(cell), result)
        a_run(cell, regret, never, words).save(sweep.run_path(cell))
    sweep.write_results()
    return sweep.refreshed()


def small_grid(problems=("ball:dimension=3",), algorithms=("default", "no-privacy"), seeds=3):
    return [
        Cell(problem, algorithm, epsilon, horizon, seed)
        for problem in problems
        for algorithm in algorithms
        for epsilon in ((math.inf,) if algorithm == "no-privacy" else (0.1, 1.0, 10.0))
        for horizon in (1_000, 4_000)
        for seed in range(seeds)
    ]


@dataclass
class Tag:
    name: str
    attributes: dict
    text: str = ""
    children: list = field(default_factory=list)

    def all(self, name=None, cls=None):
        for child in self.children:
            if (name is None or child.name == name) and (
                cls is None or cls in child.attributes.get("class", "").split()
            ):
                yield child
            yield from child.all(name, cls)


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.root = Tag("root", {})
        self.open = [self.root]

    def handle_starttag(self, tag, attrs):
        one = Tag(tag, dict(attrs))
        self.open[-1].children.append(one)
        if tag not in VOID:
            self.open.append(one)

    def handle_startendtag(self, tag, attrs):
        self.open[-1].children.append(Tag(tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open[-1].name == tag, f"</{tag}> closes <{self.open[-1].name}>"
        self.open.pop()

    def handle_data(self, data):
        for one in self.open:
            one.text += data


class Page:
    """A page as the standard library reads it."""

    def __init__(self, path):
        self.source = path.read_text(encoding="utf-8")
        reader = _Reader()
        reader.feed(self.source)
        reader.close()
        assert reader.open == [reader.root], "every element is closed"
        self.root, self.text = reader.root, reader.root.text

    def tags(self, name=None, cls=None):
        return list(self.root.all(name, cls))

    def table(self, name):
        """Rows of the body: a list of (exact value or None, text) for each."""
        (table,) = (one for one in self.tags("table") if one.attributes.get("id") == name)
        (body,) = table.all("tbody")
        return [[(cell.attributes.get("data-value"), cell.text) for cell in row.children] for row in body.all("tr")]


@pytest.fixture(scope="session")
def read_page():
    return Page


@pytest.fixture(scope="session")
def make_sweep(tmp_path_factory):
    """Each call writes a sweep into a folder of its own."""

    def make(cells=None, **options):
        return write_sweep(tmp_path_factory.mktemp("sweep"), small_grid() if cells is None else cells, **options)

    return make


@pytest.fixture(scope="session")
def grid_of():
    return small_grid


@pytest.fixture(scope="session")
def make_run():
    def make(*, regret=100.0, never=400.0, epsilon=1.0, horizon=1_000, headline=SIMULATED, power=0.5):
        cell = Cell("ball", "default", epsilon, horizon, 0)
        return a_run(cell, regret, never, headline.format(epsilon), power)

    return make
