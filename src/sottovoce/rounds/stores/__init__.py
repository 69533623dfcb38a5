"""Places where open rounds live."""
