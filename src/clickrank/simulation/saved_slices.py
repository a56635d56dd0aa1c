"""`SavedRows`: finished runs of a large simulation, saved to a folder slice by slice."""

from __future__ import annotations

import hashlib
import uuid
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clickrank._compile.jit import fingerprint
from clickrank._core.digests import add_to_digest
from clickrank.clickmodels.click_model import source_of as model_source
from clickrank.errors import ClickRankError, invalid
from clickrank.policies.contract import source_of as policy_source
from clickrank.simulation.many_results import Rows, stacked
from clickrank.simulation.simulate_runs import RunPlan
from clickrank.simulation.simulation_result import read_file, write_file

if TYPE_CHECKING:
    from clickrank.simulation.slices import Instance


class SavedRows:
    """A folder of files with some runs each. Unreadable files are treated as missing."""

    def __init__(self, folder: Path, n_instances: int, n_checkpoints: int) -> None:
        """Use this folder, which need not exist."""
        self.folder = folder
        self._shape = (n_instances, n_checkpoints)
        self._parts: dict[Path, Rows] = {}

    @classmethod
    def of(
        cls, folder: Path, label: str, instances: Sequence[Instance], plan: RunPlan
    ) -> SavedRows:
        """Return the folder of a simulation, named by a hash of what decides its numbers.

        The number of runs is not part of the hash.
        """
        if folder.exists() and not folder.is_dir():
            raise invalid("simulate_many", "folder must not be a file", str(folder))
        digest = hashlib.sha256()
        add_to_digest(digest, [fingerprint(*_sources(instances)), *plan])
        for _, key, policy, model in instances:
            add_to_digest(digest, [key, policy.name, policy, model.name, *model.params])
        name = f"{label.replace(' ', '-')}-{digest.hexdigest()[:12]}"
        return cls(folder / name, len(instances), plan.checkpoints.size)

    def load(self, runs: int) -> list[Rows]:
        """Return the saved rows among the first ``runs`` runs of each query."""
        for path in sorted(self.folder.glob("*.npz")):
            try:
                self._parts[path] = self._read(path)
            except (ClickRankError, OSError) as error:
                message = f"{path} cannot be read ({error}); its runs are simulated again."
                warnings.warn(message, stacklevel=3)
        return [rows.at(np.flatnonzero(rows.run < runs)) for rows in self._parts.values()]

    def _read(self, path: Path) -> Rows:
        _, arrays = read_file(path)
        n_instances, n_checkpoints = self._shape
        rows = Rows(*(arrays.get(name, np.zeros(())) for name in Rows._fields))
        n = rows.run.size
        shapes = [(n,), (n,), (n, n_checkpoints), (n,)]
        kinds = [column.dtype.kind for column in rows]
        if [column.shape for column in rows] != shapes or kinds != ["i", "i", "f", "f"]:
            raise invalid("load", "its arrays must fit together", [c.shape for c in rows])
        inside = (rows.instance >= 0) & (rows.instance < n_instances) & (rows.run >= 0)
        if not inside.all() or not np.isfinite(rows.regret).all():
            raise invalid("load", "its rows must be of this simulation", "others")
        return rows

    def add(self, rows: Rows) -> None:
        """Save some more runs."""
        path = self.folder / f"slice-{uuid.uuid4().hex[:12]}.npz"
        write_file(path, {}, rows._asdict())
        self._parts[path] = rows

    def finish(self) -> None:
        """Put everything into one file, unless it is in one already."""
        whole = self.folder / "runs.npz"
        slices = [path for path in self._parts if path != whole]
        if slices:
            rows = stacked(list(self._parts.values()), self._shape[1])
            write_file(whole, {}, rows._asdict())
            self._parts = {whole: rows}
            for path in slices:
                path.unlink(missing_ok=True)


def _sources(instances: Iterable[Instance]) -> list[str]:
    found = set()
    for _, key, policy, model in instances:
        for name, source in (
            (policy.name, policy_source(policy)),
            (model.name, model_source(model)),
        ):
            if source is None:
                rule = (
                    f"folder needs {name!r} (query {key!r}) to be defined in a module: "
                    "a change in a script or a prompt would not be noticed"
                )
                raise invalid("simulate_many", rule, name)
            found.add(source)
    return sorted(found - {""})
