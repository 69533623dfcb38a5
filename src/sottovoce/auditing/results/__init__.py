"""What audits found, as values that print themselves."""
