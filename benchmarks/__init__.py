"""Speed, shown as ratios against named alternatives within one run: machines are noisy, absolute times mean little."""
