"""Reports of items that are wrong in some way, and what of them must not be seen."""

import traceback

import numpy as np

PRIVATE = ("77", "78", "0.31415", "tea", "latte", "mocha", "water", "juice", "cola")


class Raising:
    def __len__(self):
        raise RuntimeError("777")

    def __float__(self):
        raise RuntimeError("777")


class RaisingMapping(dict):
    def items(self):
        raise KeyError("mint-tea-777")


def wrong_reports(chosen):
    """All that can be wrong with what is told of one decision, by name and in order."""
    first, *_ = chosen
    yield from (
        {"cola": -0.31415},
        {first: "777"[:0] + "latte"},
        {first: np.nan},
        {first: [[777], [1, 2]]},
        {first: None},
    )
    yield from (
        {first: np.inf},
        {first: Raising()},
        {7771: -1.0},
        {("latte", "mocha"): -1.0},
        RaisingMapping({first: -1.0}),
    )
    yield from ({first: {first: -0.31415}}, {first: [-0.31415]}, {None: -0.31415})
    yield from (
        [-0.31415],
        [-0.31415] * 5,
        [[-0.31415] * 4] * 2,
        "latte",
        {"latte"},
        ["latte", "mocha"],
        -0.31415,
        None,
    )
    yield from ([-0.31415, 0.0, 0.0, np.nan], [-0.31415, 0, 0, "latte"], [777j] * 4, Raising(), np.array(-0.31415))
    yield from (np.full((4, 1), -0.31415), iter([-0.31415] * 4), [-0.31415, [0.0], 0.0, 0.0], b"latte")


def shown(error):
    """Everything that an error shows: its text, those that it came from, and its lines, without variables."""
    told = [repr(error), str(error), *getattr(error, "__notes__", ())]
    assert error.__context__ is None
    assert error.__cause__ is None
    lines = [line.split("\n")[0] for line in traceback.format_exception_only(error)]
    return " ".join([*told, *lines])
