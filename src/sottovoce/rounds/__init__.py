"""Rounds: stretches of slots whose losses become a few integer sums, released once, then erased."""
