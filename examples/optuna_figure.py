"""Released means of trials around the true curve: the picture of docs/tutorials/optuna.md, by simulated noise."""

import matplotlib.pyplot as plt
import numpy as np
import optuna

import sottovoce as sv
from sottovoce.integrations.optuna import private_optimize

optuna.logging.set_verbosity(optuna.logging.WARNING)
people = np.random.default_rng(2)


def annoyed(words):
    """The share of people who leave, in truth."""
    return 0.15 + 0.1 * np.log(words / 80) ** 2


def remind(words):
    """Remind one person: what they lost."""
    return float(people.random() < annoyed(words))


figure, panels = plt.subplots(1, 3, figsize=(10, 3.4), sharey=True, layout="constrained")
ways = {"no privacy": sv.NoPrivacy(), "epsilon = 1": sv.PureDP(epsilon=1.0), "epsilon = 0.1": sv.PureDP(epsilon=0.1)}
for panel, (name, privacy) in zip(panels, ways.items(), strict=True):
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=3))
    outcome = private_optimize(
        study, remind, sv.PrivateEvaluations((0.0, 1.0), privacy, noise=sv.SimulatedNoise(4)),
        suggest=lambda trial: trial.suggest_int("words", 20, 400, log=True),
        events_per_trial=500, trials=25,
    )  # fmt: skip
    words = np.geomspace(20, 400)
    panel.plot(words, annoyed(words), color="grey", label="the truth")
    low, high = np.array([trial.user_attrs["private_interval"] for trial in study.trials]).T
    shown, values = [trial.params["words"] for trial in study.trials], [trial.value for trial in study.trials]
    panel.vlines(shown, low, high, color="tab:blue", alpha=0.4)
    panel.plot(shown, values, ".", color="tab:blue", label="released, 95% interval")
    taken = outcome.best_params["words"], outcome.best.expected
    panel.plot(*taken, "*", markersize=12, color="tab:red", label="taken, and expected")
    panel.set(xscale="log", xlabel="words", title=name)
    panel.set_xticks([20, 50, 100, 200, 400], labels=[20, 50, 100, 200, 400])
    panel.minorticks_off()
panels[0].set_ylabel("share of people who leave")
panels[0].legend(frameon=False, fontsize="small")
figure.savefig("optuna.png", dpi=110)
plt.close(figure)
