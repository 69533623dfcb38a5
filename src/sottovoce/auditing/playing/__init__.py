"""Plays the real optimizer in neighbouring worlds, however losses arrive, and writes down what is seen."""
