"""From studies to plain data for pages: released and public values only."""
