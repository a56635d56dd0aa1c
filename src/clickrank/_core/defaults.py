"""Defaults that people see in several places: in Python, on the command line and over HTTP."""

from __future__ import annotations

#: The click model that is fitted or simulated if none is named.
DEFAULT_CLICK_MODEL = "pbm"
#: The policy of a ranker whose creator names none.
DEFAULT_POLICY = "pb-mhb"
