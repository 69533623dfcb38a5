"""Environments to learn in, and the score that is kept there. Nothing here exists in a live deployment."""
