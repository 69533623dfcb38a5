"""How a study comes to be, or is found again: its name, its making, and whether both agree."""
