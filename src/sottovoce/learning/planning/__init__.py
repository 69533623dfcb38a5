"""Plans: what is given, what is chosen, what may be expected of it."""
