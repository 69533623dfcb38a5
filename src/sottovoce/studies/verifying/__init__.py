"""Verifying what is stored: every checksum, every invariant, and the points computed again."""
