"""From a log of clicks to a choice: how people click, and which policy would earn most."""

from clickrank.advice.diagnose import Diagnosis, diagnose
from clickrank.advice.earnings import Plan
from clickrank.advice.queries import Protocol
from clickrank.advice.whatif import WhatIf, whatif

__all__ = ["Diagnosis", "Plan", "Protocol", "WhatIf", "diagnose", "whatif"]
