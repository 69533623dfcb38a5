"""A study that runs, in one page: where it stands, what it has learned, what it promises. Released values only."""

import os
from pathlib import Path

from sottovoce.report.html._learned import look_learned
from sottovoce.report.html._page import write_page
from sottovoce.studies import Study

__all__ = ["study_report"]

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
    found, privacy = look_learned(study), study.privacy
    bare = "" if privacy.guarantee.private and not privacy.simulated else privacy.headline
    contents = [(name, words) for name, words in _CONTENTS.items() if name != "segments" or found.segments]
    return write_page(
        path,
        "study.html",
        {
            "title": f"Study {study.name!r}",
            "lead": [f"{privacy.headline[0].upper()}{privacy.headline[1:]}."],
            "banner": bare,
            "tiles": [],
            "contents": contents,
            "it": found,
            "status": study.status().rows,
            "statement": privacy.rows,
        },
    )
