"""The table of mechanisms.

A mechanism is a value (mechanism.py), exported by its own file, where it also says who are neighbours and why it is
private. Adding one is that file and a line in the table below; an unknown name is an error at the door.
"""

from sottovoce._checks import choice
from sottovoce.privacy.guarantees import Guarantee
from sottovoce.privacy.mechanisms.exact_sum import LOCAL, NONE
from sottovoce.privacy.mechanisms.fresh import FRESH
from sottovoce.privacy.mechanisms.item_sums import ITEM_SUMS
from sottovoce.privacy.mechanisms.mechanism import Mechanism
from sottovoce.privacy.mechanisms.probe_sums import PROBE_SUMS
from sottovoce.privacy.mechanisms.tree import TREE

MECHANISMS: dict[str, Mechanism] = {one.name: one for one in (PROBE_SUMS, ITEM_SUMS, TREE, FRESH, NONE, LOCAL)}
"""Every mechanism there is, by name."""


def mechanism_named(name: str) -> Mechanism:
    """Return the mechanism of a name, or say which there are.

    Parameters
    ----------
    name
        Of a mechanism in `MECHANISMS`.

    Examples
    --------
    >>> mechanism_named("tree")
    Mechanism('tree')
    """
    return MECHANISMS[choice("mechanism", name, tuple(MECHANISMS))]


def mechanism_for(guarantee: Guarantee, wanted: Mechanism) -> Mechanism:
    """Return what is in force: `wanted`, unless no noise is added here, since none is needed or owners add it.

    Parameters
    ----------
    guarantee
        What is to be kept.
    wanted
        The mechanism to use where noise is added here.

    Examples
    --------
    >>> from sottovoce.privacy import LocalDP, PureDP
    >>> mechanism_for(PureDP(1.0), TREE), mechanism_for(LocalDP(1.0), TREE)
    (Mechanism('tree'), Mechanism('local'))
    """
    plain = (one for one in MECHANISMS.values() if one.unasked and not one.noised and one.serves(guarantee))
    return next(plain, wanted)
