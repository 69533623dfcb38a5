"""Open rounds in a database that processes share: SQLite or PostgreSQL."""
