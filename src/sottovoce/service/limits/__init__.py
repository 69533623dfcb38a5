"""How often and how much: rates of keys, wrong keys of addresses, sizes of bodies and headers."""

from sottovoce.service.limits.bodies import BodyLimit
from sottovoce.service.limits.rates import KeyRates, WrongKeys

__all__ = ["BodyLimit", "KeyRates", "WrongKeys"]
