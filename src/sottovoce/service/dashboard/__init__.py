"""The dashboard: what studies have learned and promise, for people; released and public values only."""

from sottovoce.service.dashboard.context import DashboardContext, ServicePages
from sottovoce.service.dashboard.routes import dashboard_routes

__all__ = ["DashboardContext", "ServicePages", "dashboard_routes"]
