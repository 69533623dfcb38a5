"""What an evaluation's integers would be worth, and how noisy they would be: for planning, before there is one."""

from sottovoce.evaluations._setting import Setting
from sottovoce.evaluations.released_mean import Scale
from sottovoce.privacy import Guarantee

__all__ = ["scale_for"]


def scale_for(loss_range: tuple[float, float], privacy: Guarantee, *, channel: str = "one-bit") -> Scale:
    """Return what the numbers of evaluations would be worth, and their noise.

    Parameters
    ----------
    loss_range, privacy, channel
        As for `PrivateEvaluations`.

    Examples
    --------
    >>> import sottovoce as sv
    >>> scale = scale_for((0.0, 1.0), sv.PureDP(epsilon=0.5))
    >>> scale.noise.scale * scale.step
    2.0
    """
    return Setting(loss_range, privacy, channel=channel).scale
