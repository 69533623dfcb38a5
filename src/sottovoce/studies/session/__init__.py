"""A study in one process: what it knows of the storage, and the transactions in which that changes."""
