"""No error of a stored evaluation holds a loss: not in its words, nor in what it was raised from or while handling."""

import logging
import traceback

import numpy as np
import pytest

import sottovoce as sv

PLANTED = 0.187654321
INTEGER = round(PLANTED * 2**18)
TRACES = ("1876", str(INTEGER), repr(INTEGER.to_bytes(4, "big"))[2:-1], INTEGER.to_bytes(4, "big").hex())


class Odd:
    """Something that is no number, and says its value when it is asked."""

    def __float__(self):
        raise RuntimeError(f"not {PLANTED}")

    def __repr__(self):
        return f"Odd({PLANTED})"


def everything(error):
    """All texts of an error and of those that it travels with, and whatever they hold."""
    seen, waiting = [], [error]
    while waiting:
        one = waiting.pop()
        if one is None or one in seen:
            continue
        seen.append(one)
        waiting += [one.__cause__, one.__context__]
    return " ".join(f"{one!r} {one.args} {vars(one)} {''.join(traceback.format_exception_only(one))}" for one in seen)


@pytest.mark.parametrize("how", ["next", "ids", "several"])
@pytest.mark.parametrize("broken", ["chunks", "books"])
def test_a_storage_that_breaks_says_nothing_of_losses(how, broken, url, opened, plain, caplog, execute):
    caplog.set_level(logging.DEBUG)
    evaluations = opened(url, **plain)
    evaluation = evaluations.open(events=9)
    ids = evaluation.assign(size=4)
    execute(url, f"ALTER TABLE sottovoce_{broken} RENAME TO sottovoce_elsewhere")
    tell = {
        "next": lambda: evaluation.tell([PLANTED, 0.5]),
        "ids": lambda: evaluation.tell(PLANTED, ids=ids[0]),
        "several": lambda: evaluations.tell(ids[:3], [PLANTED, 0.5, PLANTED]),
    }
    with pytest.raises(sv.errors.SottovoceError) as caught:
        tell[how]()
    said = everything(caught.value) + caplog.text
    assert not [one for one in TRACES if one in said]
    execute(url, f"ALTER TABLE sottovoce_elsewhere RENAME TO sottovoce_{broken}")


def test_refusals_say_nothing_of_losses(evaluate):
    evaluations = evaluate()
    evaluation = evaluations.open(events=5)
    ids = evaluation.assign(size=2)
    evaluation.tell(0.5, ids=ids[0])
    for losses, these in (
        (PLANTED, ids[0]),
        ([PLANTED, np.nan], ids),
        ([PLANTED, np.nan], None),
        ([PLANTED] * 7, None),
        (Odd(), ids[1]),
        ([Odd(), PLANTED], None),
        ([PLANTED] * 3, ids),
        (0.5, str(PLANTED)),
        (0.5, PLANTED),
    ):
        with pytest.raises((sv.errors.SottovoceError, ValueError, TypeError)) as caught:
            evaluation.tell(losses, ids=these)
        assert not [one for one in TRACES if one in everything(caught.value)], (losses, these)
    assert evaluation.assigned == 2
    for one in (evaluations, evaluation):
        assert "1876" not in repr(one)
