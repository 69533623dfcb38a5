"""Durable ask and tell: studies that survive."""
