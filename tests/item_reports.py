"""Reports of items that are wrong in some way, and what of them must not be seen."""

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
    by_name = [{"cola": -0.31415}, {7771: -1.0}, {("latte", "mocha"): -1.0}, {None: -0.31415}]
    losses = ["latte", np.nan, np.inf, None, [[777], [1, 2]], Raising(), {first: -0.31415}, [-0.31415]]
    by_name += [RaisingMapping({first: -1.0}), *({first: loss} for loss in losses)]
    no_rows = [[-0.31415], [-0.31415] * 5, [[-0.31415] * 4] * 2, np.full((4, 1), -0.31415), iter([-0.31415] * 4)]
    no_rows += ["latte", b"latte", {"latte"}, ["latte", "mocha"], -0.31415, np.array(-0.31415), None, Raising()]
    wrong = [np.nan, "latte", [0.0]]
    return [*by_name, *no_rows, [777j] * 4, *([-0.31415, 0.0, 0.0, one] for one in wrong)]
