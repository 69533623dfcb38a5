"""Pictures of decisions: maps of networks, and tables of tiles."""
