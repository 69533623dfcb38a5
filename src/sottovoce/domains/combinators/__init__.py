"""Sets made from other sets: products and images."""

from sottovoce.domains.combinators.affine import Affine
from sottovoce.domains.combinators.product import Product
from sottovoce.domains.combinators.rounded import Rounded

__all__ = ["Affine", "Product", "Rounded"]
