"""A study that runs, in one page: where it stands, what it has learned, what it promises. Released values only."""

import os
from pathlib import Path

from sottovoce._disk import write_atomically
from sottovoce.report.html.learned import look_learned
from sottovoce.report.html.page import page_of
from sottovoce.report.numbers import sentence
from sottovoce.studies import Study

_CONTENTS = {
    "status": "Where it stands",
    "recommendation": "Recommendation",
    "segments": "Segments",
    "belief": "What is believed",
    "rounds": "Released rounds",
    "plan": "Plan and forecast",
    "promise": "Promise",
}


def study_report(study: Study, path: str | os.PathLike[str]) -> Path:
    """Write what a study has come to as one HTML page, with its pictures; nothing in it costs privacy.

    Parameters
    ----------
    study : Study
        The study.
    path : path
        Of the page.

    Returns
    -------
    Path
        Where the page is.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import sottovoce as sv
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> options = {"domain": sv.domains.Simplex(5), "horizon": 1000, "loss_range": (0.0, 1.0)}
    >>> with sv.Study.open(f"sqlite:///{folder / 'a.db'}", name="spring", privacy=sv.PureDP(1.0), **options) as study:
    ...     page = study.report(folder / "page.html")
    >>> "epsilon = 1, pure differential privacy" in page.read_text()
    True
    """
    return write_atomically(path, study_page(study).encode())


def study_page(study: Study) -> str:
    """Return the page that `study_report` writes."""
    found, privacy = look_learned(study), study.privacy
    bare = "" if privacy.guarantee.private and not privacy.simulated else privacy.headline
    content = {
        "title": f"Study {study.name!r}",
        "lead": [f"{sentence(privacy.headline)}."],
        "banner": bare,
        "tiles": [],
        "contents": [(name, words) for name, words in _CONTENTS.items() if name != "segments" or found["segments"]],
        "it": found,
        "status": study.status().rows,
        "statement": privacy.rows,
    }
    return page_of("study.html", content)
