import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from sottovoce.auditing import Audit
from sottovoce.auditing.attacks.claims import claim_of
from sottovoce.report import audit_figure
from sottovoce.report.figures._audits import draw


def found(label="frames, probe-sums", shown=0.8, privacy=None, simulated=False):
    coins = np.random.default_rng(0)
    return Audit(
        label=label,
        claim=claim_of(privacy or sv.PureDP(1.0)),
        epsilon_lower=shown,
        confidence=0.999,
        distinguisher="Laplace likelihood of numbers",
        neighbours="round 1, event 4",
        runs=2000,
        right=260,
        wrong=100,
        trials=1000,
        thresholds=(0.0, 0.5),
        simulated=simulated,
        scores=(coins.laplace(0, 1, 500), coins.laplace(1, 1, 500)),
        smallest_seen=1.4,
    )


def words(figure):
    texts = [text.get_text() for part in figure.subfigs for axes in part.axes for text in axes.texts]
    texts += [text.get_text().replace("\n", " ") for part in figure.subfigs for text in (*part.texts, part._suptitle)]
    texts += [label.get_text() for axes in figure.subfigs[0].axes for label in axes.get_yticklabels()]
    titles = [axes.get_title(loc="left") for part in figure.subfigs for axes in part.axes]
    return " ".join(texts + titles)


def test_the_figure_is_a_readable_png(tmp_path):
    content = audit_figure([found(), found("sphere, tree")], tmp_path / "audit.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    assert int.from_bytes(content[16:20]) >= 1200


def test_claim_finding_and_verdict_are_in_the_picture():
    fine = words(draw([found(), found("sphere, tree", simulated=True)]))
    for part in ("frames, probe-sums", "claimed 1, shown 0.8", "None of 2 claims is refuted", "(simulated)", "99.9%"):
        assert part in fine
    refuted = words(draw([found(), found("sphere, tree", shown=1.5)]))
    assert "1 of 2 claims REFUTED" in refuted


@every("count", [1, 2, 5, 9])
def test_every_audit_has_a_panel(count):
    _, panels = draw([found(f"number {i}") for i in range(count)]).subfigs
    assert sum(axes.axison for axes in panels.axes) == count


def test_many_audits_show_the_panels_that_come_closest_to_their_claims():
    figure = draw([found(f"number {i}", shown=i / 40) for i in range(40)])
    left, right = figure.subfigs
    drawn = {axes.get_title(loc="left") for axes in right.axes if axes.axison}
    assert len(drawn) == 12
    assert {"number 39", "number 28"} <= drawn
    assert len(left.axes[0].get_yticklabels()) == 40


def test_the_figure_says_what_its_lines_and_axes_are():
    figure = draw([found()])
    legend = " ".join(text.get_text() for one in figure.subfigs[1].legends for text in one.get_texts())
    assert "threshold, fixed on other runs" in legend
    assert "as a multiple of what is claimed" in figure.subfigs[0].axes[0].get_xlabel()
    assert figure.subfigs[1].axes[0].get_xlabel() == "score of a run"
    assert "Above the upper dashed line" in words(figure)


def test_the_figure_says_how_little_its_runs_could_have_shown():
    """The smallest violation that could have been noticed, and where none could, stand in words beside the verdict."""
    blind = replace(found("too few"), smallest_seen=math.inf, sees_bare_values=True)
    said = words(draw([found(), replace(found("more", privacy=sv.PureDP(0.5))), blind]))
    assert "With 2,000 runs little can be seen: a true epsilon below 1.4 to 2.8 times the claim" in said
    assert "In the 1 rows without a ring only values without any noise would have been noticed" in said
    assert "With 2,000 runs not even bare values" in words(draw([replace(blind, sees_bare_values=False)]))


def test_no_words_overlap():
    figure = draw([found(f"a configuration with a long name, {i}", simulated=True) for i in range(7)])
    figure.canvas.draw()
    parts = [text for part in figure.subfigs for axes in part.axes for text in (*axes.texts, axes._left_title)]
    parts += [text for part in figure.subfigs for text in part.texts if text is not part._suptitle]
    boxes = [text.get_window_extent() for text in parts if text.get_text()]
    assert len(boxes) == 7 * 2 + 2
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)
    assert all(figure.bbox.containsx(box.x1) for box in boxes)


def test_scores_that_do_not_vary_are_drawn(tmp_path):
    """A mechanism without noise gives two single values, however large."""
    bare = found(shown=5.0)
    object.__setattr__(bare, "scores", (np.zeros(100), np.full(100, 1e12)))
    assert audit_figure(bare, tmp_path / "audit.png").is_file()


def test_no_audits_are_refused(tmp_path):
    with pytest.raises(ValueError, match="at least one"):
        audit_figure([], tmp_path / "audit.png")
