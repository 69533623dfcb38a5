"""Local privacy: a loss is randomised by its owner, and only the report leaves the owner's hands."""

from sottovoce.privacy.local.channels import CHANNELS, Channel, channel_for, channel_from_dict, privatise
from sottovoce.privacy.local.laplace import LaplaceChannel
from sottovoce.privacy.local.one_bit import OneBitChannel
from sottovoce.privacy.local.simulated import simulate_reports

__all__ = [
    "CHANNELS",
    "Channel",
    "LaplaceChannel",
    "OneBitChannel",
    "channel_for",
    "channel_from_dict",
    "privatise",
    "simulate_reports",
]
