"""`Result`: the regret of a simulation run by run, and the files that hold results."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import msgspec
import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import Floats, Ints
from clickrank._core.output_files import make_folder_of
from clickrank.errors import ClickRankError, invalid
from clickrank.stats.intervals import MeanInterval, mean_intervals

FORMAT = 1


@dataclasses.dataclass(frozen=True)
class Result:
    """The regret of one policy on one click model, run by run.

    Parameters
    ----------
    policy, model
        Text of the policy and of the click model, for tables and files.
    checkpoints
        Rounds at which the regret was recorded, shape (checkpoints,).
    regret
        Cumulative expected regret, shape (runs, checkpoints).
    run_ids
        Number of each run, which together with the seed decides everything random, shape (runs,).
    seed
        The seed.
    seconds
        Time spent in the loop, summed over runs, without compilation.
    wanted
        How many runs were requested; more than `runs` if the simulation was interrupted.
    """

    policy: str
    model: str
    checkpoints: Ints
    regret: Floats
    run_ids: Ints
    seed: int
    seconds: float
    wanted: int

    @property
    def horizon(self) -> int:
        """The last round."""
        return int(self.checkpoints[-1])

    @property
    def runs(self) -> int:
        """Number of runs."""
        return int(self.run_ids.size)

    @property
    def interrupted(self) -> bool:
        """Whether runs are missing because the simulation was stopped."""
        return self.runs < self.wanted

    @property
    def microseconds_per_round(self) -> float:
        """Time in the loop divided by the number of rounds."""
        return 1e6 * self.seconds / (self.runs * self.horizon)

    def interval(self) -> MeanInterval[Floats]:
        """Mean regret at each checkpoint, with Student's 95 % confidence interval."""
        return mean_intervals(self.regret)

    def quantile(self, q: float) -> Floats:
        """Return the quantile of the regret over runs at each checkpoint."""
        found: Floats = np.quantile(self.regret, q, axis=0)
        return found

    def merged(self, other: Result) -> Result:
        """Return the runs of both, in order; they must belong to the same simulation."""
        same = ("policy", "model", "seed", "wanted")
        if any(getattr(self, k) != getattr(other, k) for k in same) or not np.array_equal(
            self.checkpoints, other.checkpoints
        ):
            raise invalid("Result", "only runs of the same simulation can be merged", other.policy)
        ids = np.concatenate([self.run_ids, other.run_ids])
        order = np.argsort(ids, kind="stable")
        return dataclasses.replace(
            self,
            run_ids=ids[order],
            regret=np.concatenate([self.regret, other.regret])[order],
            seconds=self.seconds + other.seconds,
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays, by name."""
        return {"checkpoints": self.checkpoints, "regret": self.regret, "run_ids": self.run_ids}

    def facts(self) -> dict[str, Any]:
        """Return everything that is not an array, by name."""
        names = ("policy", "model", "seed", "seconds", "wanted")
        return {name: getattr(self, name) for name in names}


def save_results(path: Path, results: dict[str, Result]) -> None:
    """Write results to one ``.npz`` file."""
    arrays = {f"{i}/{k}": a for i, r in enumerate(results.values()) for k, a in r.arrays().items()}
    write_file(
        path, {"names": list(results), "facts": [r.facts() for r in results.values()]}, arrays
    )


def load_results(path: Path) -> dict[str, Result]:
    """Read what `save_results` wrote."""
    with _telling(path):
        facts, arrays = read_file(path)
        if "many" in facts:
            rule = f"{path} must be a file that Comparison.save wrote"
            raise invalid("load", f"{rule} (ManyResults.load reads this one)", "a ManyResults")
        return {
            name: Result(
                checkpoints=arrays[f"{i}/checkpoints"],
                regret=arrays[f"{i}/regret"],
                run_ids=arrays[f"{i}/run_ids"],
                **facts["facts"][i],
            )
            for i, name in enumerate(facts["names"])
        }


def write_file(path: Path, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write arrays, and the rest as JSON, to one ``.npz`` file, which is never left incomplete.

    Its folder is made if it is missing.
    """
    text = np.array(msgspec.json.encode({"format": FORMAT, **facts}).decode())
    if path.is_dir():
        raise invalid("save", "the path must be that of a file", str(path))
    partial = make_folder_of(path).with_name(f"{path.name}.{os.getpid()}.part")
    with partial.open("wb") as file:
        np.savez_compressed(file, facts=text, **arrays)  # type: ignore[arg-type]
    partial.replace(path)


def read_file(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what `write_file` wrote; raise an error if the file is something else, or broken."""
    # Opened here, because NumPy, given a path, leaves the file open if it is not a zip file.
    with _telling(path), path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
        facts = msgspec.json.decode(str(file["facts"]))
        if facts["format"] != FORMAT:
            raise invalid("load", f"the file must be of format {FORMAT}", facts["format"])
        return facts, {name: file[name] for name in file.files if name != "facts"}


@contextlib.contextmanager
def _telling(path: Path) -> Iterator[None]:
    """Name the file in errors about its contents."""
    try:
        yield
    except ClickRankError:
        raise
    except (
        LookupError, TypeError, ValueError, AttributeError, EOFError, BadZipFile, zlib.error,
    ) as error:  # fmt: skip
        raise invalid("load", f"{path} must be a file that save wrote", str(error)) from error
