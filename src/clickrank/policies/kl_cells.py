"""Constants that `kl_items` takes from here until it moves to `clickrank.fast._shared`."""

SLACK = 1e-9
NEVER = -1.0
