"""The page of a study that runs: in its own sign and names, segment by segment, and of released values alone."""

import numpy as np

import sottovoce as sv
from sottovoce.report.html.learned import look_learned

BANNERS = [f"banner {i}" for i in range(40)]


def opened(tmp_path, **options):
    given = {"horizon": 30_000, "loss_range": (0.0, 1.0), "losses": "linear", "integral": True, "seed": 1, **options}
    return sv.Study.open(f"sqlite:///{tmp_path / 'a.db'}", name="shop", privacy=sv.PureDP(1.0), **given)


def play(study, rates, rounds=4, **segment):
    people = np.random.default_rng(1)
    for _ in range(rounds):
        actions = study.ask_round(**segment)
        study.tell(actions.ids, (people.random(len(actions)) < actions.x @ rates).astype(float))


def test_rewards_are_shown_as_rewards_and_no_banner_is_hidden(tmp_path):
    with opened(tmp_path, domain=sv.domains.Hypersimplex(BANNERS, k=5), direction="maximize") as study:
        play(study, np.linspace(0.02, 0.15, 40), rounds=8)
        page = study.report(tmp_path / "page.html").read_text()
        found = look_learned(study)
    for words in ("Reward", "adds to the reward"):
        assert words in page
    assert "mean loss per event" not in page
    assert (len(found["drawing"].bars) + len(found["drawing"].others), found["drawing"].more) == (40, 0)


def test_segments_have_rounds_intervals_and_beliefs_of_their_own(tmp_path):
    with opened(tmp_path, domain=sv.domains.Simplex(["tea", "milk", "cocoa"]), segments=["phone", "desktop"]) as study:
        study.tell(study.ask(segment="phone").id, 0.5)
        assert study.recommend().verdict.startswith("too early to say whether segments help: nothing was released")
        play(study, [0.2, 0.5, 0.7], segment="phone")
        play(study, [0.7, 0.5, 0.2], segment="desktop")
        found, again = look_learned(study), study.recommend()
        assert found["histories"].keys() == {"phone", "desktop"}
        page = study.report(tmp_path / "page.html").read_text()
    assert again.deviation > 0
    assert "give or take" in dict(found["sure"])["Loss"]
    assert [name for name, _ in found["beliefs"]] == ["phone", "desktop"]
    assert "Lines, in their order: phone, desktop" in found["rounds"].caption
    assert "<summary>desktop</summary>" in page


def test_a_catalogue_that_changed_is_shown_as_it_is_now(tmp_path):
    with opened(tmp_path, domain=sv.domains.Hypersimplex(BANNERS[:12], k=3)) as study:
        for first in (0, 2, 15):  # the last set has none of what was there before
            study.change(domain=sv.domains.Hypersimplex(BANNERS[first : first + 12], k=3))
            study.ask_round()  # which finishes as it was asked
            play(study, np.linspace(0.2, 0.5, 12))
            drawing = look_learned(study)["drawing"]
            assert {*(one.name for one in drawing.bars), *drawing.others} == set(BANNERS[first : first + 12])
            study.report(tmp_path / "page.html")
