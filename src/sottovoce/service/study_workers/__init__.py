"""Each open study is served by threads of its own, and what arrives together is done together."""
