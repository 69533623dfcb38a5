"""What each call does within its transaction: asking, telling, closing rounds, waiting for losses, listing them."""
