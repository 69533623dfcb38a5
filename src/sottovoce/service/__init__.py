"""Studies over HTTP: private decisions for whatever speaks it, keys for who may do what, a dashboard."""
