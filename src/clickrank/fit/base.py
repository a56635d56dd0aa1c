"""What every fitted click model offers."""

from __future__ import annotations

import abc
import dataclasses
from typing import ClassVar

from clickrank.clickmodels import ClickModel
from clickrank.logs import Counts, Sessions
from clickrank.types import Floats


@dataclasses.dataclass(frozen=True, eq=False)
class Fit(abc.ABC):
    """A click model found in a log: one attraction a pair, and what positions do, for all queries.

    Parameters
    ----------
    counts
        What it was fitted to.
    attraction, attraction_error
        Of each pair, with standard errors; infinite where the log says nothing.
    log_likelihood
        Of the log, at the estimates.
    log_likelihoods
        On the way there, one a step; none is below the one before.
    converged
        Whether the last step was below the tolerance.
    not_identified
        Sentences: what this log cannot tell of the model, and what was assumed instead.
    """

    #: The name of the click model.
    name: ClassVar[str]

    counts: Counts
    attraction: Floats
    attraction_error: Floats
    log_likelihood: float
    log_likelihoods: Floats
    converged: bool
    not_identified: tuple[str, ...]

    @abc.abstractmethod
    def model(self, query: str | None = None) -> ClickModel:
        """Return the click model of one query over its items, in the order of its pairs.

        The query may be left out where there is only one.
        """

    @abc.abstractmethod
    def click_probabilities(self, sessions: Sessions) -> Floats:
        """Return the probability of a click at each position of each list, clicks left aside.

        Lists hold pairs of ``counts``, which may be those of other sessions than were fitted. 0
        where a list has no item.
        """

    @abc.abstractmethod
    def log_probabilities(self, sessions: Sessions) -> Floats:
        """Return the log-probability of the clicks on each list, all positions together."""
