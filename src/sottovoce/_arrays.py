"""Types of arrays, named here once for the whole library. Shapes are not part of a type: the names say them."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
"""Numbers, in an array of any shape."""

Vector = Floats
"""Numbers, of shape (n,)."""

Matrix = Floats
"""Numbers, of shape (m, n): often one vector a row."""

Integers = NDArray[np.int64]
"""Whole numbers."""

Indices = NDArray[np.int32]
"""Numbers of nodes and edges, small enough to be kept in half the room."""

Positions = NDArray[np.intp]
"""Positions in an array, as numpy itself returns them."""

Mask = NDArray[np.bool_]
"""Which ones: True where an element is meant."""
