"""PrivateBandit: `ask`, `tell` and the books behind them, round by round."""
