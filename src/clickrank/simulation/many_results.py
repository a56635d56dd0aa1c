"""`ManyResults`: the result of `simulate_many`, with the runs of all queries in one table."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from clickrank._core.arrays import Floats, Ints
from clickrank.errors import invalid
from clickrank.simulation.comparison import Row, Summary
from clickrank.simulation.simulation_result import Result, read_file, write_file
from clickrank.stats.intervals import MeanInterval, mean_intervals

Key: TypeAlias = str | int

#: Longest text of a policy in a file: one with a prior for each of many items would be very long.
LONGEST_TEXT = 200


class Rows(NamedTuple):
    """Finished runs, one per row."""

    instance: Ints  # (rows,): number of the query, in the order given
    run: Ints  # (rows,): number of the run of that query
    regret: Floats  # (rows, checkpoints)
    seconds: Floats  # (rows,): time in the loop

    def ordered(self) -> Rows:
        """Return the rows by query and run, each run once."""
        order = np.lexsort((self.run, self.instance))
        pair = np.stack([self.instance[order], self.run[order]])
        new = np.append(True, (pair[:, 1:] != pair[:, :-1]).any(axis=0))[: order.size]
        return self.at(order[new])

    def at(self, rows: Ints) -> Rows:
        """Return some of the rows."""
        instance, run, regret, seconds = self
        return Rows(instance[rows], run[rows], regret[rows], seconds[rows])


def stacked(parts: Sequence[Rows], n_checkpoints: int) -> Rows:
    """Return the rows of all parts, in order."""
    none = np.zeros(0, dtype=np.int64)
    start = Rows(none, none, np.zeros((0, n_checkpoints)), np.zeros(0))
    columns = zip(start, *parts, strict=True)
    return Rows(*(np.concatenate(column) for column in columns)).ordered()


class ManyResults(Mapping[Key, Result]):
    """The results of `simulate_many` by query, in the order given.

    A query without a finished run is left out; then `interrupted` is true.
    """

    def __init__(
        self,
        keys: Sequence[Key],
        label: str,
        policies: Sequence[str],
        models: Sequence[str],
        checkpoints: Ints,
        rows: Rows,
        seed: int,
        wanted: int,
        taken_over: int = 0,
    ) -> None:
        """Store the rows, which must be in order; ``wanted`` is the number of runs per query.

        ``taken_over`` counts the runs that had been saved before and were not simulated again.
        """
        self._keys = list(keys)
        self.label = label
        self._policies = [_shortened(text) for text in policies]
        self._models = [_shortened(text) for text in models]
        self.checkpoints = checkpoints
        self.rows = rows
        self.seed = seed
        self.wanted = wanted
        self.taken_over = taken_over
        edges = np.searchsorted(rows.instance, np.arange(len(self._keys) + 1))
        self._range = {
            key: (i, int(edges[i]), int(edges[i + 1]))
            for i, key in enumerate(self._keys)
            if edges[i] < edges[i + 1]
        }

    def __getitem__(self, key: Key) -> Result:
        """Return the result of one query."""
        i, begin, end = self._range[key]
        return Result(
            policy=self._policies[i],
            model=self._models[i],
            checkpoints=self.checkpoints,
            regret=self.rows.regret[begin:end],
            run_ids=self.rows.run[begin:end],
            seed=self.seed,
            seconds=float(self.rows.seconds[begin:end].sum()),
            wanted=self.wanted,
        )

    def __iter__(self) -> Iterator[Key]:
        """Iterate over the queries with at least one run, in the order given."""
        return iter(self._range)

    def __len__(self) -> int:
        """Return how many queries have at least one run."""
        return len(self._range)

    def __repr__(self) -> str:
        """Return the policy's label, and how many queries and runs there are."""
        much = self.missing or f"{len(self):,} queries, {self.runs:,} runs"
        return f"ManyResults({self.label}, {much})"

    @property
    def horizon(self) -> int:
        """The last round."""
        return int(self.checkpoints[-1])

    @property
    def runs(self) -> int:
        """Number of runs, of all queries together."""
        return int(self.rows.run.size)

    @property
    def interrupted(self) -> bool:
        """Whether runs are missing because the simulation was stopped."""
        return self.runs < len(self._keys) * self.wanted

    @property
    def missing(self) -> str:
        """A sentence on how many of the requested runs are finished; empty if all are."""
        if not self.interrupted:
            return ""
        queries = len(self._keys)
        return (
            f"interrupted: {self.runs:,} of {queries * self.wanted:,} runs, "
            f"{len(self):,} of {queries:,} queries"
        )

    @property
    def seconds(self) -> float:
        """Time spent in the loop, summed over all runs, without compilation."""
        return float(self.rows.seconds.sum())

    @property
    def microseconds_per_round(self) -> float:
        """Time in the loop divided by the number of rounds."""
        return 1e6 * self.seconds / (self.runs * self.horizon)

    @functools.cached_property
    def curves(self) -> Floats:
        """Regret by query and checkpoint, averaged over the runs of a query."""
        return self._averaged(self.rows.regret)

    def _averaged(self, values: Floats) -> Floats:
        """Return the mean over the runs of each query."""
        begins = [begin for _, begin, _ in self._range.values()]
        sizes = np.array([end - begin for _, begin, end in self._range.values()])
        found: Floats = (np.add.reduceat(values, begins, axis=0).T / sizes).T
        return found

    @property
    def regret_by_query(self) -> dict[Key, float]:
        """Regret of each query at the horizon, averaged over its runs."""
        return dict(zip(self, self.curves[:, -1].tolist(), strict=True))

    def mean(self) -> MeanInterval[Floats]:
        """Mean regret of a query at each checkpoint, with Student's 95 % confidence interval.

        Runs are averaged within each query first, and the interval is over queries: it is valid for
        another query of the same kind. Runs of one query are alike, so that an interval over all
        runs, like that of ``result()``, would be too narrow.
        """
        return mean_intervals(self.curves)

    def summary(self) -> Summary:
        """Return regret at the horizon over queries, runs averaged within each, and speed."""
        mean, low, high = (float(x[-1]) for x in self.mean())
        median, q05, q95 = np.quantile(self.curves[:, -1], (0.5, 0.05, 0.95)).tolist()
        speed = self.microseconds_per_round
        row = Row(self.label, mean, low, high, median, q05, q95, self.runs, speed)
        return Summary([row], self.missing)

    def result(self, average_runs: bool = False) -> Result:
        """Return everything as one result, for plots, comparisons and claims.

        Each run of a query becomes a run with the number query · runs + run. With ``average_runs``,
        each query becomes one run, the average of its runs, with the number of the query; intervals
        are then those of `mean`.
        """
        rows, seconds = self.rows, self.seconds
        if average_runs:
            regret, wanted = self.curves, len(self._keys)
            seconds = float(self._averaged(rows.seconds).sum())
            ids = np.array([i for i, _, _ in self._range.values()], dtype=np.int64)
        else:
            regret, wanted = rows.regret, len(self._keys) * self.wanted
            ids = rows.instance * self.wanted + rows.run
        return Result(
            policy=self.label,
            model=f"{len(self._keys)} queries",
            checkpoints=self.checkpoints,
            regret=regret,
            run_ids=ids,
            seed=self.seed,
            seconds=seconds,
            wanted=wanted,
        )

    def save(self, path: str | Path) -> None:
        """Write everything to one ``.npz`` file, whose folder is made if it is missing."""
        policies, models = list(dict.fromkeys(self._policies)), list(dict.fromkeys(self._models))
        place = [{text: i for i, text in enumerate(texts)} for texts in (policies, models)]
        facts = {
            "many": self._keys,
            "label": self.label,
            "policies": policies,
            "models": models,
            "seed": self.seed,
            "wanted": self.wanted,
        }
        which = {
            "policy": np.array([place[0][text] for text in self._policies]),
            "model": np.array([place[1][text] for text in self._models]),
        }
        write_file(
            Path(path), facts, {"checkpoints": self.checkpoints, **which, **self.rows._asdict()}
        )

    @classmethod
    def load(cls, path: str | Path) -> ManyResults:
        """Read what `save` wrote."""
        facts, arrays = read_file(Path(path))
        if "many" not in facts:
            rule = f"{path} must be a file that ManyResults.save wrote"
            if "names" in facts:
                raise invalid("load", f"{rule} (Comparison.load reads this one)", "a Comparison")
            raise invalid("load", rule, "another")
        return cls(
            facts["many"],
            facts["label"],
            [facts["policies"][i] for i in arrays["policy"]],
            [facts["models"][i] for i in arrays["model"]],
            arrays["checkpoints"],
            Rows(*(arrays[name] for name in Rows._fields)),
            facts["seed"],
            facts["wanted"],
        )


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"
