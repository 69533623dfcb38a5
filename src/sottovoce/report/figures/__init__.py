"""Figures as images: regret, plans, decisions, audits."""
