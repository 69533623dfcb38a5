"""The command line: thin, everything it does the library does."""

from sottovoce.cli.app import main

__all__ = ["main"]
