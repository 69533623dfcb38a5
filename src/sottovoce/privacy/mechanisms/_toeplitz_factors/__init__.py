"""Lower-triangular Toeplitz factors of the running sums: what toeplitz.py streams through."""
