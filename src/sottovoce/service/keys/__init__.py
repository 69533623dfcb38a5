"""Who may do what: keys, and logins that stand for one."""

from sottovoce.service.keys.key import ROLES, Key
from sottovoce.service.keys.store import KeyStore

__all__ = ["ROLES", "Key", "KeyStore"]
