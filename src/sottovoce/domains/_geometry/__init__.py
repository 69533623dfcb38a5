"""What follows from a linear oracle: hulls, bounds, balls inside, and the families of shapes that know them exactly."""
