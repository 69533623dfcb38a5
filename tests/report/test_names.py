"""Pages say decisions by name, where the set has names; and a name is a text there, whatever it holds."""

import sottovoce as sv
from sottovoce.report import run_report

NAMES = ("tea", "<script>alert(1)</script>", "cocoa & milk", 'a "quoted"\nname')


def test_a_page_names_the_decision_and_what_is_believed(tmp_path):
    environment = sv.lab.NoisyLinear(sv.domains.Simplex(NAMES), seed=3)
    optimizer = sv.PrivateBandit(
        environment.domain,
        horizon=3000,
        loss_range=environment.loss_range,
        privacy=sv.PureDP(1.0),
        losses="linear",
        integral=True,
        seed=1,
        noise=sv.SimulatedNoise(1),
    )
    run = sv.lab.simulate(optimizer, environment)
    page = run_report(run, tmp_path / "page.html", optimizers=[optimizer])
    text = page.read_text()
    assert "<script>alert(1)" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "cocoa &amp; milk" in text
    (chosen,) = environment.domain.chosen(optimizer.point)
    assert run.details.decision == chosen.replace("\n", " ")
    assert "From the best on: " in text
    assert '<span class="what">cocoa &amp; milk</span>' in text
    assert f"  decision        {run.details.decision}" in str(run)
