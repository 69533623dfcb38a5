"""One optimizer's charge in a ledger: made once, used with its first loss, and handed on with its state.

The rules, and why they hold, stand at the top of privacy/ledger.py.
"""

import uuid
from dataclasses import dataclass

from sottovoce.privacy import Guarantee, Ledger
from sottovoce.privacy.ledger import check_ledger, new_token


@dataclass(slots=True)
class HeldCharge:
    """What an optimizer knows of its charge; `ledger` is None if there is none.

    Every change is told to the ledger first and remembered here after: an exception in between leaves a token here that
    the ledger no longer takes, and the next release is charged as another life.
    """

    ledger: Ledger | None
    name: str
    guarantee: Guarantee
    token: str | None = None
    used: bool = False
    shared: bool = False  # a state holds the same token, and whoever is first will use it up

    @property
    def unused(self) -> bool:
        """Whether the ledger has to be told of the first loss."""
        return self.ledger is not None and not self.used

    def mark_used(self) -> None:
        """Tell the ledger that a loss is about to come: from here on it gives nothing back."""
        if self.ledger is not None and not self.used:
            self.ledger.mark_used(self.name)
            self.used = True

    def hand_over(self) -> str | None:
        """Return the token that goes into a state: the right to go on as this life, which this life keeps as well."""
        if self.ledger is None:
            return None
        successor = new_token()
        self.shared = True  # before the ledger hears of it: whatever happens next, a release asks again
        if self.ledger.hand_over(self.name, self.token, successor):
            self.token = successor
        return successor  # if this life was overtaken by a state of its own, it has no right to hand over

    def claim(self) -> None:
        """Take the right to go on back, before anything is released that a state does not know of."""
        if self.shared and self.ledger is not None:
            successor = new_token()
            self.name = self.ledger.carry_on(self.name, self.guarantee, self.token, successor)
            self.token, self.shared = successor, False


def new_charge(ledger: Ledger | None, name: str | None, guarantee: Guarantee, *, simulated: bool) -> HeldCharge:
    """Charge an optimizer that is new, under a name that nobody has."""
    check_ledger(ledger)
    held = HeldCharge(ledger, name or f"private-bandit-{uuid.uuid4().hex}", guarantee)
    if ledger is not None:
        held.token = new_token()
        ledger.charge(held.name, guarantee, simulated=simulated, resume=False, token=held.token)
    return held


def resumed_charge(
    ledger: Ledger | None, name: str, token: str | None, guarantee: Guarantee, *, simulated: bool
) -> HeldCharge:
    """Present the token of a state; be charged anew if it is not that of the present holder."""
    held = HeldCharge(ledger, name, guarantee)
    if ledger is not None:
        held.token, held.used = new_token(), True
        held.name = ledger.carry_on(name, guarantee, token, held.token, simulated=simulated)
    return held
