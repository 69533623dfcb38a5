"""What can be called over HTTP. Every endpoint reads its request itself: nothing that was sent is ever echoed."""

from sottovoce.service.endpoints._documented import documented_app
from sottovoce.service.endpoints.asking import asking_routes
from sottovoce.service.endpoints.creating import creating_routes
from sottovoce.service.endpoints.evaluated import evaluated_routes
from sottovoce.service.endpoints.evaluating import evaluating_routes
from sottovoce.service.endpoints.health import health_routes
from sottovoce.service.endpoints.looking import looking_routes
from sottovoce.service.endpoints.measuring import metrics_routes
from sottovoce.service.endpoints.script import script_routes
from sottovoce.service.endpoints.telling import telling_routes

__all__ = [
    "asking_routes",
    "creating_routes",
    "documented_app",
    "evaluated_routes",
    "evaluating_routes",
    "health_routes",
    "looking_routes",
    "metrics_routes",
    "script_routes",
    "telling_routes",
]
