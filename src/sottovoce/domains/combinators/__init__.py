"""Sets made from other sets: products, and sets in round position."""

from sottovoce.domains.combinators.product import Product
from sottovoce.domains.combinators.rounded import Rounded

__all__ = ["Product", "Rounded"]
