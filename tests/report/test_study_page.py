"""The page of a study that runs: in its own sign and names, segment by segment, and of released values alone."""

import re

import numpy as np

import sottovoce as sv
from sottovoce.report import run_report
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
    for words in ("Reward", "reward per event of never learning", "adds to the reward", "Below a name"):
        assert words in page
    assert "mean loss per event" not in page
    drawing, ((_, belief),) = found["drawing"], found["beliefs"]
    assert (len(drawing.bars) + len(drawing.others), drawing.more) == (40, 0)
    assert drawing.bars[0].name == str(belief["charts"][0].caption).split("best on: ")[1].split(",")[0]
    (learned,) = re.findall(r"<th scope=\"row\"[^>]*>learned[^<]*</th>.*?(about \d+%|too early)", page, re.DOTALL)
    assert learned.startswith("about")


def test_never_learning_is_the_middle_of_the_set_where_items_tell_losses_too(tmp_path):
    """It was said to bring nothing at all: what is believed of items is measured from no items."""
    rates, people = np.array([0.3, 0.1, 0.5, 0.2]), np.random.default_rng(1)
    made = {"domain": sv.domains.Hypersimplex(4, 2), "feedback": "items", "losses": "convex", "horizon": 10_000}
    with opened(tmp_path, **made) as study:
        for _ in range(8):
            actions = study.ask(1000)
            chosen = np.array([np.flatnonzero(row) for row in actions.x])
            study.tell(actions.ids, (people.random(chosen.shape) < rates[chosen]).astype(float))
        ((never,),) = [
            row[2:] for row in look_learned(study)["planned"]["table"].rows if "never learning" in row[0].words
        ]
    assert abs(float(never.words.split(" ")[0]) - rates.sum() / 2) < 0.1


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


def test_a_run_counts_coordinates_from_0_and_tells_a_bound_as_what_it_is(tmp_path):
    world = sv.lab.MovingTarget(sv.domains.Ball(2))
    for plan, promised in (("auto", False), ("worst-case", True)):
        optimizer = sv.PrivateBandit(
            world.domain,
            horizon=20_000,
            loss_range=world.loss_range,
            privacy=sv.NoPrivacy(),
            lipschitz=world.lipschitz,
            plan=plan,
            seed=1,
        )
        run = sv.lab.simulate(optimizer, world)
        page = run_report(run, tmp_path / "run.html", optimizers=[optimizer]).read_text()
        assert ("(order only)" not in page) == promised
        assert '<span class="what">0</span>' in page
        assert '<span class="what">2</span>' not in page


def test_a_catalogue_that_changed_is_shown_as_it_is_now(tmp_path):
    with opened(tmp_path, domain=sv.domains.Hypersimplex(BANNERS[:12], k=3)) as study:
        for first in (0, 2, 15):  # the last set has none of what was there before
            study.change(domain=sv.domains.Hypersimplex(BANNERS[first : first + 12], k=3))
            study.ask_round()  # which finishes as it was asked
            play(study, np.linspace(0.2, 0.5, 12))
            drawing = look_learned(study)["drawing"]
            assert {*(one.name for one in drawing.bars), *drawing.others} == set(BANNERS[first : first + 12])
            study.report(tmp_path / "page.html")
