"""Optuna is imported when it is used, and missed in words that help."""

import subprocess
import sys

import pytest

import sottovoce as sv

PROGRAM = """
import sys
sys.modules["optuna"] = None  # not installed
import sottovoce as sv
print(sv.integrations.events_per_trial(1000, privacy=sv.PureDP(1.0)) > 1)
try:
    sv.integrations.optuna
except ImportError as error:
    print(error)
"""


def test_a_missing_optuna_is_named_with_what_to_do_and_the_rest_works():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    works, said = done.stdout.splitlines()
    assert works == "True"
    assert said.startswith("sottovoce.integrations.optuna needs optuna, which is not installed. The extra 'optuna'")


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="hyperopt"):
        sv.integrations.hyperopt  # noqa: B018
