"""Algorithms on plain arrays and graphs that know nothing of domains: paths, flows, assignments, eigenvectors, LPs."""
