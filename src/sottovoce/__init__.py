"""Private, projection-free bandit optimisation."""

__version__ = "0.1.0"
