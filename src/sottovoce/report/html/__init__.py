"""One-file HTML pages: of runs, of a sweep, of an A/B test, of a statement."""
