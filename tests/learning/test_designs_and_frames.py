"""What becomes of losses inside the optimizer: which are read, and what is left of them once they are added up.

That one event moves one number of one round, by the range at most: tests/plans, and audits of every plan.
"""

import sys

import numpy as np

import sottovoce as sv
from optimizers import bandit
from sampling import every
from sottovoce import _sums

CHOICES = sv.domains.Hypersimplex(6, 2)
RANGE = (-1.0, 3.0)
HORIZON = 2000
DESIGNS = {"losses": "linear", "exploration": "designs", "rate": 0.1, "probe_events": 4}
FRAMES = {"exploration": "frames", "directions": 3, "batch_size": 50}
ITEMS = {"feedback": "items", "integral": True}
KINDS = {
    "fractional": (CHOICES, DESIGNS),
    "integral": (CHOICES, DESIGNS | {"integral": True}),
    "ball": (sv.domains.Ball(4), DESIGNS),
    "reads few": (CHOICES, DESIGNS | {"rate": 0.002, "probe_events": 2}),  # some blocks want no loss at all
    "frames": (CHOICES, FRAMES),
    "frames of odd size": (CHOICES, FRAMES | {"batch_size": 37}),
    "posterior": (CHOICES, {"losses": "linear"}),
    "convex": (sv.domains.Ball(3), {}),
    "paper": (CHOICES, {"plan": "paper"}),
    "items": (CHOICES, ITEMS),
}


@every("kind", KINDS)
def test_what_people_tell_beyond_their_promise_is_in_no_sum_and_counts_for_nobody(kind):
    domain, options = KINDS[kind]
    optimizer = bandit(domain, HORIZON, privacy=sv.NoPrivacy(contributions=3), loss_range=RANGE, **options)
    people = ["often"] * 1000 + [f"person {number}" for number in range(1000)]
    actions = optimizer.ask(person=np.random.default_rng(1).permutation(people).tolist())
    losses = np.where(actions.wants_loss, RANGE[0], np.nan)  # zero on the grid, or never read
    optimizer.tell(actions.ids, np.stack([losses, losses], axis=1) if options is ITEMS else losses)
    releases = [one for one in optimizer._store.releases(0, 0) if one.numbers is not None]
    assert releases
    for one in releases:
        wanted = actions.wants_loss[one.round.first :][: one.round.size]
        sums, counts = one.numbers[:2]
        assert not sums.any()
        assert np.abs(counts).sum() <= wanted.sum() or kind in ("paper", "items")  # whose events have weights


PUBLIC = ("index", "there", "counted")  # which numbers an event is in
ADDED_UP = {  # by each way of adding up
    "sphere": (CHOICES, {"plan": "paper"}),
    "frames": (CHOICES, FRAMES),
    "squares": (CHOICES, {"losses": "linear"}),
    "items": (CHOICES, ITEMS),
    "items and their spread": (CHOICES, ITEMS | {"most": 1.0}),
}


@every("kind", ADDED_UP)
def test_what_losses_were_added_up_in_is_overwritten_as_well(kind):
    domain, options = ADDED_UP[kind]
    optimizer, held = bandit(domain, HORIZON, **options), []

    def look(frame, event, found):
        if event == "return" and frame.f_code.co_name == "sum" and frame.f_code.co_filename == _sums.__file__:
            arrays = {name: one for name, one in frame.f_locals.items() if isinstance(one, np.ndarray)}
            assert found.any()
            held.extend([found] + [one for name, one in arrays.items() if name not in PUBLIC])

    coins = np.random.default_rng(1)
    sys.setprofile(look)
    try:
        while not optimizer.round:
            optimizer.tell(optimizer.ask().id, coins.random(2) if "feedback" in options else coins.random())
    finally:
        sys.setprofile(None)
    assert held
    assert not [one for one in held if one.any()]
