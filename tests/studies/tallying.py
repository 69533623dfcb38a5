"""A tally of what was done to studies in a soak, and what became of it."""

import json
import os


def tally(kind, backend, outcome, count=1):
    """Note what became of a kill (or of another blow), for the summary at the end of a soak; see `tallied`.

    `kind` says what was done ("killed at a statement"), `backend` is "sqlite" or "postgresql" (a URL will do),
    `outcome` what was found afterwards. It becomes a line of the file that SOTTOVOCE_TALLY names; nothing without that
    variable. Lines are appended in one write each, so that any number of processes may count at once.
    """
    path = os.environ.get("SOTTOVOCE_TALLY")
    if path:
        line = json.dumps([kind, str(backend).partition(":")[0].partition("+")[0], outcome, count]) + "\n"
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)


def tallied(path):
    """Return the lines of a table, in Markdown, of all that was noted in a file."""
    counts, outcomes = {}, {}
    with open(path) as lines:
        for kind, backend, outcome, count in map(json.loads, lines):
            mine = counts.setdefault((kind, backend), {})
            mine[outcome] = mine.get(outcome, 0) + count
            outcomes[outcome] = outcomes.get(outcome, 0) + count
    rows = ["| kind | storage | times | outcomes |", "|---|---|---|---|"]
    for (kind, backend), mine in sorted(counts.items()):
        words = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(mine.items()))
        rows.append(f"| {kind} | {backend} | {sum(mine.values()):,} | {words} |")
    words = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(outcomes.items()))
    return [*rows, f"| all | | {sum(outcomes.values()):,} | {words} |"]
