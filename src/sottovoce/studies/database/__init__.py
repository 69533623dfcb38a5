"""Where studies live: the connection to a database, its tables, rows, versions, and a look at all of it."""
