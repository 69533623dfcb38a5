"""What pages are made of: headline numbers and charts with their words."""

from dataclasses import dataclass

__all__ = ["Chart", "Tile"]


@dataclass(frozen=True, slots=True)
class Tile:
    """A headline number, with the words before and after it."""

    say: str
    number: str
    fine: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with its title and caption."""

    title: str
    svg: str
    caption: str
