"""What everything builds on: arrays, checks of values, registries, random streams, progress."""
