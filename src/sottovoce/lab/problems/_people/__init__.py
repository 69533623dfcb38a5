"""Simulated people: how they answer a decision, and what is best against them."""
