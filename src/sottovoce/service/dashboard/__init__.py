"""The dashboard: what studies have learned and promise, for people; released and public values only."""

from sottovoce.service.dashboard.routes import dashboard_routes

__all__ = ["dashboard_routes"]
