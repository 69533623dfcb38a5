"""What a service answers, as its models declare it: written by `python docs/client_types.py`."""

from typing import Any, NotRequired, TypedDict


class Sparse(TypedDict):
    """Numbers that are not 0, and where; `dimension` counts zeros as well."""

    dimension: int
    index: list[int]
    value: list[float]


class Action(TypedDict):
    """A decision to carry out: `chosen` in the names of the set, `x` its numbers."""

    id: str
    chosen: Any
    x: list[float] | Sparse | None
    wants_loss: bool
    items: NotRequired[list[Any] | None]


class Actions(TypedDict):
    """A block of decisions."""

    actions: list[Action]


class Told(TypedDict):
    """What became of losses: recorded, on record before, and too late or not wanted."""

    recorded: int
    already: int
    dropped: int


class Outstanding(TypedDict):
    """Actions that wait for their loss: how many there are; ids, rounds and ages in seconds of the oldest."""

    outstanding: int
    ids: list[str]
    rounds: list[int]
    ages: list[float]
    waiting: list[dict[str, Any]]


class Posterior(TypedDict):
    """All that is believed, as `Posterior.load` reads it, in base64."""

    record: str


class FitCheck(TypedDict):
    """How well what was released fits the model of the losses; null without one."""

    fit_check: dict[str, Any] | None


class Definition(TypedDict):
    """What a study is about: the present set, unless it holds functions that cannot be written down."""

    domain: dict[str, Any] | None
    segments: dict[str, Any] | None
    horizon: int | None
    loss_range: list[float]
    direction: str


class Page(TypedDict):
    """A page, as HTML."""

    page: str
