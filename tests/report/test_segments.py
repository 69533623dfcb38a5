"""Segments in the page of a run: a verdict, a picture and a table, escaped, and few enough to see."""

from html import unescape

import numpy as np

import sottovoce as sv
from sottovoce.lab.problems import Editions
from sottovoce.learning import SegmentGain
from sottovoce.report import run_report
from sottovoce.report.html._segments import show_segments


def recommendation(decisions, gains, whole=(1.0, 1.0, 0.0, 0.0), **options):
    """What segments with these decisions and gains would be recommended."""
    whole = np.array(whole)
    each = {
        name: sv.Recommendation(
            *(np.array(x), "", 5),
            share=0.5,
            words=f"page {name}",
            events=100 * (place + 1),
            gain=SegmentGain(*gains[name], differs=tuple(x) != tuple(whole)),
        )
        for place, (name, x) in enumerate(decisions.items())
    }
    options.setdefault("gain", SegmentGain(0.1, 0.05, 0.2, True))
    return sv.Recommendation(whole, "", 5, segments=each, **options)


TWO = recommendation(
    {"phone": (1.0, 0.0, 1.0, 0.0), "desktop": (1.0, 1.0, 0.0, 0.0)},
    {"phone": (0.1, 0.05, 0.2), "desktop": (0.0, 0.0, 0.0)},
)


def cells(shown):
    return {row[0].words: [one.words for one in row] for row in shown["table"].rows}


def test_the_table_says_for_each_segment_what_is_decided_how_it_differs_and_what_it_gains():
    shown = show_segments(TWO, names=["news", "sport", "music", "film"])
    assert list(cells(shown)) == ["desktop", "phone"]  # the largest first
    assert cells(shown)["phone"] == ["phone", "page phone", "adds music; leaves out sport", "100", "50%", "0.100"]
    assert cells(shown)["desktop"][2:] == ["nothing", "200", "50%", "–"]
    (gain,) = [row[-1] for row in shown["table"].rows if row[0].words == "phone"]
    assert gain.aside == "0.050 to 0.20"


def test_where_segments_do_not_help_the_page_says_so():
    same = recommendation(
        {"phone": (1.0, 1.0, 0.0, 0.0)}, {"phone": (0.0, 0.0, 0.0)}, gain=SegmentGain(0.0, 0.0, 0.0, False)
    )
    shown = show_segments(same)
    assert shown["verdict"].startswith("Segments do not help here")
    assert not shown["helps"]
    unsure = recommendation(
        {"phone": (1.0, 0.0, 1.0, 0.0)}, {"phone": (0.1, -0.1, 0.2)}, gain=SegmentGain(0.1, -0.1, 0.2, True)
    )
    assert show_segments(unsure)["verdict"].startswith("Segments do not help, as far as is known")
    assert show_segments(sv.Recommendation(np.zeros(2), "", 0)) is None


def test_two_hundred_segments_fit_a_page_and_names_that_are_markup_stay_words(tmp_path):
    nasty = '<script>alert("1")</script>'
    problem = Editions(items=4, slots=2, segments=200)
    optimizer = problem.optimizer(horizon=500, privacy=sv.NoPrivacy(), seed=1)
    run = sv.lab.simulate(optimizer, problem.environment)
    pages = [(1.0, 1.0, 0.0, 0.0), (1.0, 0.0, 1.0, 0.0), (0.0, 1.0, 0.0, 1.0)]
    names = [nasty, *problem.segments.names[1:]]
    found = recommendation(
        {name: pages[place % 3] for place, name in enumerate(names)}, dict.fromkeys(names, (0.1, 0.0, 0.2))
    )
    optimizer.recommend = lambda: found
    page = run_report(run, tmp_path / "page.html", optimizers=[optimizer], problem=problem).read_text()
    assert 'href="#segments-shown"' in page
    table = page[page.index('<table id="segments"') :]
    assert table[: table.index("</table>")].count("<tr>") == 201
    assert "best in hindsight, one for each segment" in page
    assert "<script>alert" not in page
    assert nasty in unescape(page)
