"""What is known beforehand: features of coordinates, and what an earlier run or study believed."""

import numpy as np
import pytest

import sottovoce as sv
from optimizers import bandit
from sampling import every
from sottovoce.errors import ConfigurationMismatch

SLATES = sv.domains.Hypersimplex(20, 5)
LINEAR = {"losses": "linear", "integral": True, "exploration": "posterior"}
COSTS = np.random.default_rng(8).beta(1, 2, 20)
OTHERS = np.random.default_rng(9).beta(1, 2, 20)


def make(domain=SLATES, horizon=20_000, seed=1, epsilon=1.0, **options):
    given = {"loss_range": (0.0, 1.0), "privacy": sv.PureDP(epsilon), "noise": sv.SimulatedNoise(seed), **LINEAR}
    return sv.PrivateBandit(domain, horizon=horizon, seed=seed, **{**given, **options})


def regret(optimizer, costs, size=5, seed=0):
    """Mean regret per event where every item fails by itself."""
    world, lost, events = np.random.default_rng(seed), 0.0, optimizer.remaining
    while optimizer.remaining:
        actions = optimizer.ask_round()
        means = actions.x @ costs / size
        optimizer.tell(actions.ids, world.binomial(size, means) / size)
        lost += float(means.sum())
    return lost / events - np.sort(costs)[:size].mean()


@pytest.fixture(scope="module")
def season():
    optimizer = make()
    cold = regret(optimizer, COSTS)
    return cold, optimizer.posterior()


def test_a_season_like_the_last_one_costs_less_than_a_cold_start_and_one_unlike_it_hardly_more(season):
    cold, prior = season
    near = np.clip(COSTS + np.random.default_rng(0).normal(0, 0.03, 20), 0, 1)
    assert regret(make(seed=2, prior=prior), near, seed=1) < 0.6 * cold
    assert regret(make(seed=2, prior=prior), OTHERS, seed=1) < 1.3 * regret(make(seed=2), OTHERS, seed=1)


def test_features_let_few_events_say_something_of_many_items():
    """Items whose losses follow from four numbers each: a cold start learns these, and not a hundred of its own."""
    world = np.random.default_rng(4)
    features = world.normal(size=(100, 4))
    costs = np.clip(0.4 + features @ world.normal(0, 0.08, 4) + world.normal(0, 0.02, 100), 0, 1)
    domain = sv.domains.Hypersimplex(100, 5)
    without = regret(make(domain, 8_000), costs)
    assert regret(make(domain, 8_000, features=features), costs) < 0.4 * without


def distance(target, seed, prior=None):
    """Mean regret per event where losses grow with the squared distance from a target in a ball."""
    given = {"exploration": "posterior", "prior": prior, "seed": seed, "noise": sv.SimulatedNoise(seed)}
    optimizer = bandit(sv.domains.Ball(3), 12_000, **given)
    world, lost = np.random.default_rng(seed), 0.0
    while optimizer.remaining:
        actions = optimizer.ask_round()
        means = 0.1 + 0.25 * ((actions.x - target) ** 2).sum(axis=1)
        optimizer.tell(actions.ids, world.random(len(means)) < means)
        lost += float((means - 0.1).sum())
    return lost / 12_000, optimizer


def test_convex_losses_take_a_prior_and_drop_one_that_is_wrong():
    target, colds, warms = np.array([0.5, -0.3, 0.1]), [], []
    for seed in (1, 3, 5):
        cold, spring = distance(target, seed)
        prior = spring.posterior()
        colds.append(cold)
        warms.append(distance(target + 0.03, seed + 1, prior)[0])
    assert sum(warms) < 0.7 * sum(colds)
    wrong, optimizer = distance(-target, 2, prior)
    assert wrong < 2 * distance(-target, 2)[0]
    assert not optimizer._policy.current().explorer.belief.remembers_earlier


def test_a_posterior_survives_its_file_and_predicts_within_its_deviations(season, tmp_path):
    """Of 40 slates, none is off by five standard deviations: 2e-5 by chance."""
    _, posterior = season
    again = sv.Posterior.load(posterior.save(tmp_path / "season.posterior"))
    assert again == posterior
    assert str(again) == str(posterior)
    for seed in range(40):
        x = SLATES.extreme_point(np.random.default_rng(seed).normal(size=20))
        loss, deviation = again.predict(x)
        assert (loss, deviation) == posterior.predict(x)
        assert abs(loss - x @ COSTS / 5) < 5 * deviation
    data = bytearray((tmp_path / "season.posterior").read_bytes())
    data[-1] ^= 1
    (tmp_path / "damaged").write_bytes(data)
    with pytest.raises(ValueError, match="is not a posterior saved by sottovoce, or is damaged"):
        sv.Posterior.load(tmp_path / "damaged")


@every(
    ("options", "error"),
    [
        ({"features": np.ones((19, 2))}, "a row for each of the 20 coordinates"),
        ({"features": np.ones(20)}, r"must have the shape \(coordinates, features\)"),
        ({"features": np.full((20, 2), np.nan)}, "finite"),
        ({"features": np.zeros((20, 2))}, "say nothing"),
        ({"features": "many"}, "an array of numbers"),
        ({"features": np.ones((20, 2)), "losses": "convex", "integral": False}, "a linear model alone"),
        ({"features": np.ones((20, 2)), "exploration": "designs"}, "features is of no use to this plan"),
        ({"prior": "season", "exploration": "designs"}, "posterior probes alone begin with it"),
        ({"prior": "season", "domain": sv.domains.Hypersimplex(21, 5)}, "decisions with 20 coordinates"),
    ],
)
@every("build", [sv.PrivateBandit, sv.plan])
def test_what_does_not_apply_is_refused(build, options, error, season):
    given = {"loss_range": (0.0, 1.0), "privacy": sv.PureDP(1.0), **LINEAR, **options}
    if "prior" in given:
        given |= {"prior": season[1], "accept_prior": "not private"}
    with pytest.raises(ValueError, match=error):
        build(given.pop("domain", SLATES), horizon=1000, **given)


def test_a_prior_decides_before_anything_is_released_and_the_statement_says_whom_it_came_from(season):
    optimizer = make(seed=3, prior=season[1])
    assert optimizer.ask().x @ COSTS < SLATES.center @ COSTS - 0.3
    said = " ".join(str(optimizer.privacy).split())
    assert "people whose losses are in the prior" in said
    assert season[1].privacy in said
    with pytest.raises(TypeError, match=r"sv\.Posterior\.load"):
        make(prior=b"bytes")
    named = after(SLATES.labelled(ITEMS), COSTS, 1000)
    assert f"best       {ITEMS[int(np.argmin(named.slopes))]}: " in str(named)
    assert make(SLATES, prior=named).remaining  # without names, what stands in its place is meant
    assert season[1].labels is None
    assert make(SLATES.labelled(ITEMS), prior=season[1]).remaining


def test_a_study_keeps_them_and_refuses_others(season, tmp_path):
    url = f"sqlite:///{tmp_path / 'study.db'}"
    features = np.random.default_rng(0).normal(size=(20, 2))
    options = {"domain": SLATES, "horizon": 2000, "loss_range": (0.0, 1.0), "privacy": sv.NoPrivacy(), **LINEAR}
    with sv.Study.open(url, name="next", seed=1, features=features, prior=season[1], **options) as study:
        actions = study.ask_round()
        study.tell(actions.ids, actions.x @ COSTS / 5)
        found = study.recommend().to_dict()
    with sv.Study.open(url, name="next", features=features, prior=season[1]) as again:
        assert again.recommend().to_dict() == found
        assert again.verify().ok
        assert again.export()["configuration"]["prior"].startswith("Posterior(linear, 20 coordinates")
    with pytest.raises(ConfigurationMismatch, match="features is Features"):
        sv.Study.open(url, name="next", features=features[::-1])


ITEMS = tuple(f"item {i}" for i in range(20))


def after(domain, costs, events=4000):
    optimizer = make(domain, horizon=events)
    regret(optimizer, costs)
    return optimizer.posterior()


def test_a_prior_finds_coordinates_by_their_names(tmp_path):
    """A run over the same things in another order believes the same of each, and learns on from there alike."""
    order = np.random.default_rng(3).permutation(20)
    found = after(SLATES.labelled(ITEMS), COSTS)
    prior = sv.Posterior.load(found.save(tmp_path / "believed"))
    assert prior == found
    assert prior.labels == ITEMS
    other = SLATES.labelled([ITEMS[i] for i in order])
    began = make(other, prior=prior).posterior()
    assert began.labels == other.labels
    straight = make(SLATES.labelled(ITEMS), prior=prior).posterior()
    assert np.allclose(began.slopes, straight.slopes[order], atol=2e-3)  # scales are tried out
    assert np.abs(began.slopes - straight.slopes).max() > 0.05
    covariance = straight.covariance[:20, :20][np.ix_(order, order)]
    assert np.allclose(began.covariance[:20, :20], covariance, rtol=0.05, atol=1e-4)


def test_a_prior_with_names_that_came_and_went_says_what_it_knows_of_the_others():
    """Dropping one and adding one loses nothing: what was released of the dropped one waits until it returns."""
    found = after(SLATES.labelled(ITEMS), COSTS, 8000)
    best = [ITEMS[i] for i in np.argsort(found.slopes)[:5]]
    names = [*(name for name in ITEMS[::-1] if name != best[0]), "cake"]
    began = make(SLATES.labelled(names), prior=found)
    said = began.recommend()  # before anything is asked
    assert set(best[1:]) < set(said.chosen)
    assert "the prior knows" in said.why
    believed = began.posterior()
    assert believed.labels == tuple(names)
    assert believed.others == (best[0],)
    where = [names.index(name) for name in best[1:]]
    assert np.allclose(believed.deviations[where].mean(), found.deviations.min(), rtol=1.0)
    assert believed.deviations[-1] > 1.5 * believed.deviations[:-1].max()  # nothing is known of cake
    lost = regret(began, np.append(COSTS[[ITEMS.index(name) for name in names[:-1]]], 0.9))
    assert lost < 0.8 * regret(make(SLATES.labelled(names)), np.append(COSTS[: len(names) - 1], 0.9))
    back = make(SLATES.labelled(ITEMS), prior=sv.Posterior.from_record(believed.to_record()))
    assert best[0] in back.recommend().chosen


def test_a_record_with_names_that_are_none_is_refused():
    prior = after(SLATES.labelled(ITEMS), COSTS, 1000)
    for labels in (
        ["a"] * 20,
        ["a", "b"],
        "tea",
        [[1]] * 20,
        [{"made": ["domains", "Ball", {"dimension": n + 1}]} for n in range(20)],
    ):
        record = prior.to_record() | {"labels": labels}
        with pytest.raises(ValueError, match=r"name|labels"):
            sv.Posterior.from_record(record)
