"""The adversary: what it sees of many runs, how it tells two worlds apart, and what its counts prove of a claim."""
