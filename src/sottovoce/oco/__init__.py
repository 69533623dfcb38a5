"""NoisyOCO: online convex optimisation on noisy gradients, by projection without projecting."""
