"""PrivateBandit, with the policy behind its book."""
