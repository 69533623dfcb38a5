"""Release mechanisms: one file for each, with its proof at the top, and the table of them all."""
