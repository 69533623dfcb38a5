"""What endpoints read and answer: the OpenAPI document and the types of clients follow from these."""

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from sottovoce.options import OPTIONS
from sottovoce.plans.options import DecisionFacts
from sottovoce.service.problem_documents import Problem
from sottovoce.service.study_workers.answers import Layout
from sottovoce.studies import TellCall

_MOST = 2**53
Named = Annotated[str, Field(max_length=200)] | int
Segment = Named | Annotated[list[Named], Field(max_length=100)] | dict[str, Named]
Level = str | int
Range = Annotated[list[float], Field(min_length=2, max_length=2, default_factory=lambda: [0.0, 1.0])]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Items = list[float | None] | dict[str, float]
Number = Annotated[int, Field(ge=0, le=_MOST)]
Count = Annotated[int, Field(ge=0)]


NAMES: set[str] = set()
"""All that members of bodies are called."""


class Body(BaseModel):
    """What is sent. A text is not taken for a number, unknown members are refused, errors never hold a value."""

    model_config = ConfigDict(strict=True, extra="forbid", hide_input_in_errors=True)

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Note its names."""
        NAMES.update(cls.model_fields)


def _example(**members: Any) -> ConfigDict:
    """Return what shows a body in the manual; it is taken as it stands."""
    return ConfigDict(json_schema_extra={"example": members})


# ---------------------------------------------------------------------- sent


class Privacy(Body):
    """The promise: epsilon, with delta or local; or rho; or none."""

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    local: bool = False
    none: bool = False
    contributions: int | None = None


class SegmentsWish(Body):
    """Whom decisions are for: names, or levels by factor; and how many may open on first use."""

    names: list[Level] | None = None
    factors: dict[str, list[Level]] | None = None
    limit: int | None = None
    features: list[list[float]] | None = None


def _facts() -> Any:
    """Return a body with what may be said of a decision, as the constructor and `sottovoce.options` declare it."""
    members: dict[str, Any] = {}
    for one in fields(DecisionFacts):
        option = OPTIONS.get(one.name)
        if option is not None and option.kind is not Path and one.name != "accept_prior":  # files, for commands
            kind: Any = Literal[option.choices] if option.choices else option.kind
            members[one.name] = (kind if one.default is not None else kind | None, one.default)
    return create_model("Facts", __base__=Body, **members)


class Create(_facts()):  # type: ignore[misc]
    """What `Study.open` takes to create a study."""

    model_config = _example(
        name="spring",
        domain="simplex:3",
        labels=["tea", "coffee", "cocoa"],
        horizon=10_000,
        privacy={"epsilon": 1.0},
        losses="linear",
        integral=True,
    )

    name: str
    domain: str | dict[str, Any]
    horizon: int | None
    privacy: Privacy
    labels: list[str] | None = None
    loss_range: Range
    plan: str = "auto"
    exploration: str | None = None
    mechanism: str | None = None
    choices: dict[str, bool | int | float | str] = Field(default_factory=dict)
    patience: int | Literal["auto"] | None = "auto"
    deadline: float | None = None
    seed: Seed | None = None
    segments: SegmentsWish | None = None


class Change(Body):
    """What changes: the set of decisions, under names by which what is known is carried over; how long rounds wait."""

    model_config = _example(domain="simplex:4", labels=["tea", "milk", "cocoa", "juice"])

    domain: str | dict[str, Any] | None = None
    labels: list[str] | None = None
    features: list[list[float]] | None = None
    patience: int | Literal["auto"] | None = None
    deadline: float | None = None


class Ask(Body):
    """What is asked for: one action, or a block of `size`; `x` says how their numbers are written.

    With `round`: the rest of the current round, or `size` of it at most.

    Of a study with segments: `segment`, whom all of it is for, a name or a level of each factor; or `segments`, one for
    each action of a block.

    Where people are counted: `person`, whose the action is, by any text that is theirs alone; or `people`, one for each
    action of a block. A keyed hash is kept, and never the text.
    """

    model_config = _example(size=2, x="sparse")

    size: Annotated[int, Field(ge=1)] | None = None
    x: Layout = "dense"
    round: bool = False
    segment: Segment | None = None
    segments: list[Segment] | None = None
    person: str | None = None
    people: Annotated[list[str], Field(min_length=1)] | None = None


def _shape(who: str, what: str) -> dict[str, Any]:
    others = {"id", "ids", "loss", "losses", "report", "reports"} - {who, what}
    return {"required": [who, what], "properties": {one: {"type": "null"} for one in sorted(others)}}


_SHAPES = [("id", "loss"), ("id", "report"), ("ids", "losses"), ("ids", "reports")]


class Tell(Body):
    """A loss for an action, or one for each of a block of them; under local privacy reports instead.

    With feedback by item: the losses of an action's items, by name, or a list in the order of its `items` with null for
    those that are not told.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [_shape(*one) for one in _SHAPES],
            "example": {"id": "1.0.9cd230f79b25", "loss": 0.5},
        }
    )

    id: str | None = None
    loss: float | Items | None = None
    report: int | None = None
    ids: list[str] | None = None
    losses: list[float] | list[Items] | None = None
    reports: list[int] | None = None
    late: Literal["error", "drop"] = "error"

    def __repr__(self) -> str:
        return "Tell()"  # losses are never in print

    __str__ = __repr__

    @property
    def call(self) -> TellCall:
        """The call that it stands for: one value for one id, or as many as there are ids."""
        given = [name for name in ("loss", "report", "losses", "reports") if getattr(self, name) is not None]
        one = self.id is not None
        if one == (self.ids is not None) or len(given) != 1 or (given[0] in ("losses", "reports")) == one:
            raise Problem(
                "malformed", "A tell has id and loss, or ids and losses; under local privacy report, or reports."
            )
        if one:
            return TellCall(self.id, self.loss, self.report, self.late)
        many: Any = self.losses if self.losses is not None else self.reports
        if len(many) != len(self.ids or ()):
            raise Problem("malformed", "There must be a loss for each id.")
        return TellCall(self.ids, self.losses, self.reports, self.late)


class Forget(Body):
    """Actions whose loss will never come."""

    model_config = _example(ids=["1.0.9cd230f79b25"])

    ids: Annotated[list[str], Field(min_length=1)]


class CreateEvaluations(Body):
    """What `PrivateEvaluations` takes to create evaluations."""

    model_config = _example(name="prices", privacy={"epsilon": 1.0})

    name: str
    privacy: Privacy
    loss_range: Range
    patience: int | Literal["auto"] | None = "auto"
    variance: bool = False
    seed: Seed | None = None


class Open(Body):
    """An evaluation to begin: how many people will meet its parameters."""

    model_config = _example(events=500)

    events: Annotated[int, Field(ge=1, le=_MOST)]


class Assign(Body):
    """Who is to be assigned: one person, or `size` of them; by coins, or all to the evaluation of a number.

    Where people are counted, `person` says who it is, by any text that is theirs alone; or `people`, each of several.
    """

    model_config = _example(size=2)

    size: Annotated[int, Field(ge=1)] | None = None
    number: Number | None = None
    person: str | None = None
    people: Annotated[list[str], Field(min_length=1)] | None = None


class Which(Body):
    """An evaluation, by its number."""

    model_config = _example(number=0)

    number: Number


# ---------------------------------------------------------------------- answered


class Sparse(BaseModel):
    """Numbers that are not 0, and where; `dimension` counts zeros as well."""

    dimension: int
    index: list[int]
    value: list[float]


class Action(BaseModel):
    """A decision to carry out: `chosen` in the names of the set, `x` its numbers.

    With feedback by item: `items`, the names of its items in the order in which their losses are told.
    """

    id: str
    chosen: Any
    x: list[float] | Sparse | None
    wants_loss: bool
    items: list[Any] | None = None


class Actions(BaseModel):
    """A block of decisions."""

    actions: list[Action]


class Told(BaseModel):
    """What became of losses: recorded, on record before, and too late or not wanted."""

    recorded: Count
    already: Count
    dropped: Count


class Closed(BaseModel):
    """How many actions were closed without a loss."""

    closed: Count


class Erased(BaseModel):
    """How many people nothing is kept of any more."""

    erased: Count


class Promised(BaseModel):
    """Whether it is new, what is promised, and what speaks against that, if anything does."""

    created: bool
    privacy: str
    warnings: list[str]


class Created(Promised):
    """A study."""

    study: str
    remaining: int | None


class CreatedEvaluations(Promised):
    """Evaluations."""

    evaluations: str


class Studies(BaseModel):
    """Public facts of studies."""

    studies: list[dict[str, Any]]


class Outstanding(BaseModel):
    """Actions that wait for their loss: how many there are; ids, rounds and ages in seconds of the oldest."""

    outstanding: Count
    ids: list[str]
    rounds: list[int]
    ages: list[float]
    waiting: list[dict[str, Any]]


class Channel(BaseModel):
    """How owners privatise their losses."""

    model_config = ConfigDict(extra="allow")

    kind: str
    loss_range: list[float]
    epsilon: float


class FitCheck(BaseModel):
    """How well what was released fits the model of the losses; null without one."""

    fit_check: dict[str, Any] | None


class Definition(BaseModel):
    """What a study is about: the present set, unless it holds functions that cannot be written down."""

    domain: dict[str, Any] | None
    segments: dict[str, Any] | None
    horizon: int | None
    loss_range: list[float]
    direction: str


class Posterior(BaseModel):
    """All that is believed, as `Posterior.load` reads it, in base64."""

    record: str


class Page(BaseModel):
    """A page, as HTML."""

    page: str


class Opened(BaseModel):
    """An evaluation that has begun."""

    number: int
    events: int


class Person(BaseModel):
    """Which evaluation somebody was assigned to, under which id, and whether a loss is wanted."""

    number: int
    id: str
    wants_loss: bool = True


class Assigned(BaseModel):
    """Several of them."""

    assigned: list[Person]


class Ended(BaseModel):
    """An evaluation that was closed or abandoned."""

    number: int
    closed: bool
    abandoned: bool


class Standing(Ended):
    """Where an evaluation stands; `ids` of those who have no loss yet."""

    events: int
    assigned: int
    remaining: int
    outstanding: int
    ids: list[str]


class Results(BaseModel):
    """All that was released, in the order in which it was."""

    results: list[dict[str, Any]]


class Health(BaseModel):
    """That all is well."""

    status: Literal["ok"]
