"""The public names, and where they live: what type checkers read, and what is loaded when it is first used."""

from sottovoce.integrations import optuna as optuna
from sottovoce.integrations.splitting import events_per_trial as events_per_trial
