"""What segments say of themselves and of each other: values that pass between beliefs."""

from dataclasses import dataclass, field

from sottovoce._arrays import Floats
from sottovoce.models.scatter import NO_SCATTER


@dataclass(frozen=True, eq=False)
class SufficientStatistics:
    """What was released of one segment: measurements of its coefficients, as a precision and a pull; and of variances.

    Attributes
    ----------
    precision, pull
        Sum of w x x^T, and of w y x, over measurements y of <x, coefficients> with precisions w.
    scatter
        What was released of the variance of a loss: `models/scatter.py`.
    numbers
        Released numbers behind it.
    resets
        How often all was forgotten. Segments that forgot more or less often are of another world.
    scores
        How well choices of a belief have predicted, if they are the same for all segments.
    """

    precision: Floats
    pull: Floats
    scatter: Floats = field(default_factory=lambda: NO_SCATTER)
    numbers: int = 0
    resets: int = 0
    scores: tuple[Floats, ...] = ()


class Prior(SufficientStatistics):
    """What others say of a segment's coefficients, and of the variance of its losses.

    `precision` and `pull` are of a Gaussian, in place of what is believed of one segment alone; `scatter` and `scores`
    are summed over the others. `resets` is that of most events of all segments: who has
    fewer has not noticed that the world has changed.
    """
