import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
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
    texts = [text.get_text() for axes in figure.axes for text in (*axes.texts, axes._left_title)]
    return " ".join([*texts, *(text.get_text() for text in figure.texts)]).replace("\n", " ")


def test_the_figure_is_a_readable_png(tmp_path):
    content = audit_figure([found(), found("sphere, tree")], tmp_path / "audit.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    assert int.from_bytes(content[16:20]) >= 1200


def test_claim_finding_verdict_and_how_little_could_be_seen_are_in_the_picture():
    blind = replace(found("too few"), smallest_seen=math.inf)
    fine = words(draw([found(), found("sphere, tree", simulated=True), blind]))
    for part in ("frames, probe-sums", "claimed 1, shown 0.8", "None of 3 claims is refuted", "(simulated noise)"):
        assert part in fine
    assert "2,000 runs could have shown 1.4" in fine
    assert "2,000 runs could have shown no noise at all" in fine
    assert "1 of 2 claims REFUTED" in words(draw([found(), found("sphere, tree", shown=1.5)]))


def test_those_that_come_closest_to_their_claims_have_panels():
    for count in (1, 2, 5):
        assert sum(axes.axison for axes in draw([found(f"number {i}") for i in range(count)]).axes) == count
    many = draw([found(f"number {i}", shown=i / 40) for i in range(40)])
    drawn = {axes.get_title(loc="left") for axes in many.axes if axes.axison}
    assert len(drawn) == 12
    assert {"number 39", "number 28"} <= drawn
    assert "The 12 that come closest" in words(many)


def test_no_words_overlap():
    figure = draw([found(f"a configuration with a long name, {i}", simulated=True) for i in range(7)])
    figure.canvas.draw()
    parts = [text for axes in figure.axes for text in (*axes.texts, axes._left_title)]
    parts += [text for text in figure.texts if text is not figure._suptitle]
    boxes = [text.get_window_extent() for text in parts if text.get_text()]
    assert len(boxes) == 7 * 2 + 1
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
