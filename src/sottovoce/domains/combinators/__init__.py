"""Sets made from other sets: products, images, a counter of oracle calls."""

from sottovoce.domains.combinators.affine import Affine
from sottovoce.domains.combinators.counting import Counting
from sottovoce.domains.combinators.product import Product
from sottovoce.domains.combinators.rounded import Rounded

__all__ = ["Affine", "Counting", "Product", "Rounded"]
