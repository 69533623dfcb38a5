"""Slots are as large as what they hold: reports of owners may be far larger than losses on their grid."""

import pytest

import sottovoce as sv


@pytest.mark.filterwarnings("ignore:.* lets next to nothing be learned")
@pytest.mark.parametrize("channel", ["one-bit", "laplace"])
@pytest.mark.parametrize("epsilon", [1.0, 1e-4])
def test_reports_of_any_size_are_kept_as_they_are(url, opened, channel, epsilon):
    study = opened(
        url,
        domain=sv.domains.Simplex(3),
        horizon=3_000,
        loss_range=(0.0, 1.0),
        privacy=sv.LocalDP(epsilon),
        channel=channel,
        plan="worst-case",
        batch_size=39,  # an odd number: one direction has an event without its opposite
    )
    largest = study.channel.most_report
    actions = study.ask(45)
    study.tell(actions.ids[:40], report=[largest] * 40)
    study.tell(actions.ids[40], report=study.channel.least_report)
    assert study.round == 1
    released, weights = study._store.releases(0, 0)[0].numbers
    assert weights.any()
    assert (released == weights * largest).all()  # the noise is in the reports
    assert study.verify().ok
    assert study.status().outstanding == 4
