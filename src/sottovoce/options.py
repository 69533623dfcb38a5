"""What people may write of an optimizer, declared once: commands and HTTP bodies are made from it.

What an argument may be is said where the constructor checks it (`sottovoce.plans.options`); here it gets words. A new
argument that can be written is one more line of `OPTIONS`.
"""

from pathlib import Path
from typing import NamedTuple

from sottovoce.plans import EXPLORATIONS
from sottovoce.plans.options import CHOICES
from sottovoce.privacy import MECHANISMS

_DECISION, _PRIVACY, _PLAN = "What is decided", "Privacy", "How it is learned"


class Option(NamedTuple):
    """An option: what it means, and what it may be.

    Attributes
    ----------
    group
        Under which heading it stands.
    help
        What it means, in one line.
    kind
        The type of its value; bool is a switch, list may be given several times.
    choices
        All that it may be, if that is a few words.
    """

    group: str
    help: str
    kind: type = str
    choices: tuple[str, ...] = ()


_NOISY = tuple(one.name for one in MECHANISMS.values() if one.noised)
OPTIONS: dict[str, Option] = {
    "domain": Option(
        _DECISION, "Such as ball:10, box:5, simplex:10 or hypersimplex:20,5; `sottovoce domains` lists all."
    ),
    "domain_json": Option(
        _DECISION, "A file with a domain as sottovoce.domains.specification.specify writes it.", Path
    ),
    "labels": Option(_DECISION, "Names of the coordinates, such as tea,coffee,cocoa; or a file with one a line."),
    "horizon": Option(_DECISION, "Events, such as 1000000, 1e6, 100k or 1M; for a study also: unknown."),
    "loss_range": Option(_DECISION, "Losses are clipped to it, such as 0,1."),
    "direction": Option(
        _DECISION, "minimize losses, or maximize: then rewards are told, and shown.", choices=CHOICES["direction"]
    ),
    "losses": Option(
        _DECISION, "convex, or linear in the decision: then far more is learned of each.", choices=CHOICES["losses"]
    ),
    "play": Option(_DECISION, "inside (every action feasible) or around.", choices=CHOICES["play"]),
    "integral": Option(_DECISION, "Play vertices: 0/1 decisions.", bool),
    "feedback": Option(
        _DECISION, "decision: one loss of each; items: one of each item that it chooses.", choices=CHOICES["feedback"]
    ),
    "most": Option(_DECISION, "With --feedback items: what one person's items count for in all.", float),
    "lipschitz": Option(_DECISION, "Lipschitz constant of the losses, if known.", float),
    "features": Option(
        _DECISION, "A .csv file with a row of numbers for each coordinate: like rows, like losses.", Path
    ),
    "prior": Option(_DECISION, "What an earlier study believed, a file of `study export --posterior`.", Path),
    "accept_prior": Option(
        _DECISION,
        "'not private': begin with a prior whose people nothing protects; the statement says it.",
        choices=CHOICES["accept_prior"],
    ),
    "epsilon": Option(_PRIVACY, "Privacy budget; smaller is more private. 1 by default.", float),
    "delta": Option(_PRIVACY, "With epsilon: approximate differential privacy. 0 is pure.", float),
    "rho": Option(_PRIVACY, "Zero-concentrated differential privacy instead of epsilon.", float),
    "local": Option(_PRIVACY, "Owners privatise their losses and send reports.", bool),
    "no_privacy": Option(_PRIVACY, "Learn without any promise.", bool),
    "contributions": Option(_PRIVACY, "Events that one person is in, at most; 1 by default.", int),
    "plan": Option(_PLAN, f"{' or '.join(CHOICES['plan'])}; a study refuses paper.", choices=CHOICES["plan"]),
    "exploration": Option(_PLAN, f"One of {', '.join(EXPLORATIONS)}.", choices=tuple(EXPLORATIONS)),
    "mechanism": Option(_PLAN, f"One of {', '.join(_NOISY)}.", choices=_NOISY),
    "choose": Option(_PLAN, "A single choice of the plan: batch_size=64. Repeatable.", list),
    "patience": Option(_PLAN, "Events asked after a full round until it closes without missing losses; auto, none."),
    "deadline": Option(_PLAN, "The same in seconds; or none."),
    "seed": Option(_PLAN, "Of the public coins, and of a simulated world; never of real noise.", int),
}
