"""Segments of a study: a lane of rounds for each, with one lock, one clock and one promise for all of them."""
