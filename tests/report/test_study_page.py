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
    for words in ("Expected reward", "reward per event of never learning", "adds to the reward", "Below a name"):
        assert words in page
    assert "mean loss per event" not in page
    assert len(found.drawing.bars) + len(found.drawing.others) == 40
    assert found.drawing.more == 0
    assert found.drawing.bars[0].name == str(found.beliefs[0][1].charts[0].caption).split("best on: ")[1].split(",")[0]
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
        ((never,),) = [row[2:] for row in look_learned(study).planned["table"].rows if "never learning" in row[0].words]
    assert abs(float(never.words.split(" ")[0]) - rates.sum() / 2) < 0.1


def test_segments_have_rounds_intervals_and_beliefs_of_their_own(tmp_path):
    with opened(tmp_path, domain=sv.domains.Simplex(["tea", "milk", "cocoa"]), segments=["phone", "desktop"]) as study:
        study.tell(study.ask(segment="phone").id, 0.5)
        assert study.recommend().verdict.startswith("too early to say whether segments help: nothing was released")
        play(study, [0.2, 0.5, 0.7], segment="phone")
        play(study, [0.7, 0.5, 0.2], segment="desktop")
        found, again = look_learned(study), study.recommend()
        assert look_learned(study, found.histories).histories.keys() == {"phone", "desktop"}
        page = study.report(tmp_path / "page.html").read_text()
    assert again.deviation > 0
    assert "±" in dict(found.sure)["Expected loss"]
    assert [name for name, _ in found.beliefs] == ["phone", "desktop"]
    assert "Lines, in their order: phone, desktop" in found.rounds.caption
    assert {row[0].words for row in found.table.rows} == {"phone", "desktop"}
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
        page = run_report(run, tmp_path / "run.html", plans=[optimizer.plan], points=[optimizer.point]).read_text()
        assert (">at most<" in page) == promised
        assert "coordinate 0<" in page
        assert "coordinate 2<" not in page


def test_a_catalogue_that_changed_is_shown_as_it_is_now(tmp_path):
    """Decisions that had what is gone are not compared with a model of what is there."""
    with opened(tmp_path, domain=sv.domains.Hypersimplex(BANNERS[:12], k=3)) as study:
        for first, charts in ((0, 2), (2, 2), (15, 1)):  # the last set has none of what was there before
            study.change(domain=sv.domains.Hypersimplex(BANNERS[first : first + 12], k=3))
            study.ask_round()  # which finishes as it was asked
            found = look_learned(study)
            assert [len(belief.charts) for _, belief in found.beliefs] == ([charts] if found.beliefs else [])
            play(study, np.linspace(0.2, 0.5, 12))
            study.report(tmp_path / "page.html")
