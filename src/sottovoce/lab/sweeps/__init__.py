"""A grid of cells, run over processes or machines into a folder that can be interrupted and resumed."""
