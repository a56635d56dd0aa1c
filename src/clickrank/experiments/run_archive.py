"""Archive of runs: the regret of single runs at checkpoints, one file per figure.

The files are shipped with the package. A run is found by the key of its strand and by its number,
in whichever figure it was first needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from clickrank._core.arrays import Floats, Ints
from clickrank.clickmodels import CLICK_MODELS
from clickrank.experiments.code_stamp import stamp_of
from clickrank.experiments.figure_runs import Strand
from clickrank.policies import POLICIES
from clickrank.simulation.simulation_result import read_file, write_file

#: The folder of the archive that is shipped with the package.
SHIPPED = Path(__file__).parent / "results"


class ArchivedRun(NamedTuple):
    """The regret of one run at the checkpoints of its figure, and the seconds that it took."""

    regret: Floats
    seconds: float


class StrandFacts(msgspec.Struct, frozen=True):
    """What the archive says about a strand, so that people can read it.

    Policies and click models are described, and given by their registered names. ``code`` is the
    hash of the code that made the runs: see `clickrank.experiments.code_stamp`.
    """

    key: str
    curve: str
    label: str
    policy: str
    policy_name: str
    model: str
    model_name: str
    seed: int
    code: str

    @property
    def is_stale(self) -> bool:
        """Whether other code has made the runs than would make them today."""
        known = self.policy_name in POLICIES and self.model_name in CLICK_MODELS
        return not known or self.code != stamp_of(
            POLICIES[self.policy_name], CLICK_MODELS[self.model_name]
        )


class ArchivedStrand:
    """The archived runs of one strand, by number, at the checkpoints of one file."""

    def __init__(self, facts: StrandFacts, checkpoints: Ints) -> None:
        """Begin without runs."""
        self.facts = facts
        self.checkpoints = checkpoints
        self.runs: dict[int, ArchivedRun] = {}

    def has_checkpoints(self, checkpoints: Ints) -> bool:
        """Return whether runs are recorded at exactly these rounds."""
        return np.array_equal(self.checkpoints, checkpoints)

    def at(self, checkpoints: Ints, run: int) -> ArchivedRun | None:
        """Return a run at other checkpoints; None if it is missing or was not recorded there."""
        found = self.runs.get(run)
        places = np.searchsorted(self.checkpoints, checkpoints)
        if found is None or places[-1] >= self.checkpoints.size:
            return None
        if not np.array_equal(self.checkpoints[places], checkpoints):
            return None
        return ArchivedRun(found.regret[places], found.seconds)


class RunArchive:
    """All archived runs of a folder; those of another archive can be used too, and stay there."""

    def __init__(self, folder: Path, base: RunArchive | None = None) -> None:
        """Read the files of a folder, which need not exist."""
        self.folder = folder
        self._files: dict[str, list[ArchivedStrand]] = {}
        self._by_key: dict[str, list[ArchivedStrand]] = {}
        if base is not None:
            self._by_key = {key: list(strands) for key, strands in base._by_key.items()}
        for path in sorted(folder.glob("*/*.npz")):
            for strand in _read(path):
                self._keep(f"{path.parent.name}/{path.stem}", strand)

    def _keep(self, name: str, strand: ArchivedStrand) -> None:
        self._files.setdefault(name, []).append(strand)
        self._by_key.setdefault(strand.facts.key, []).append(strand)

    def find(self, strand: Strand, run: int) -> ArchivedRun | None:
        """Return a run at the checkpoints of a strand; a longer run has those of a shorter one."""
        for archived in self._by_key.get(strand.key, ()):
            found = archived.at(strand.plan.checkpoints, run)
            if found is not None:
                return found
        return None

    def is_stale(self, key: str) -> bool:
        """Return whether other code has made some of the archived runs of a strand."""
        return any(archived.facts.is_stale for archived in self._by_key.get(key, ()))

    def add(self, name: str, strand: Strand, run: int, played: ArchivedRun) -> None:
        """Add a run, made by today's code, to the file of an experiment; `save` writes it."""
        same = [s for s in self._files.get(name, []) if s.facts.key == strand.key]
        archived = next((s for s in same if s.has_checkpoints(strand.plan.checkpoints)), None)
        if archived is None:
            facts = StrandFacts(
                key=strand.key,
                curve=strand.curve,
                label=strand.label,
                policy=repr(strand.policy),
                policy_name=strand.policy.name,
                model=repr(strand.model),
                model_name=strand.model.name,
                seed=strand.plan.seed,
                code=stamp_of(type(strand.policy), type(strand.model)),
            )
            archived = ArchivedStrand(facts, strand.plan.checkpoints)
            self._keep(name, archived)
        archived.runs[run] = played
        for other in same:  # of a shorter run, the longer one has all that is worth keeping
            if np.isin(other.checkpoints, strand.plan.checkpoints[:-1]).all():
                other.runs.pop(run, None)

    def remove(self, key: str) -> None:
        """Forget all runs of a strand."""
        self._by_key.pop(key, None)
        for name, strands in self._files.items():
            self._files[name] = [strand for strand in strands if strand.facts.key != key]

    def restamp(self, policy_name: str, model_name: str) -> None:
        """Say that today's code makes the runs of a policy on a click model; `save` writes it.

        This is only right if the rankings are the same as before: see `restamp_same_runs`.
        """
        code = stamp_of(POLICIES[policy_name], CLICK_MODELS[model_name])
        for strands in self._files.values():
            for strand in strands:
                facts = strand.facts
                if (facts.policy_name, facts.model_name) == (policy_name, model_name):
                    strand.facts = msgspec.structs.replace(facts, code=code)

    def strands_of(self, name: str) -> list[ArchivedStrand]:
        """Return the strands in the file of an experiment."""
        return list(self._files.get(name, []))

    def save(self, name: str) -> None:
        """Write the file of an experiment."""
        strands = [strand for strand in self._files.get(name, []) if strand.runs]
        path = self.folder / f"{name}.npz"
        if not strands:
            path.unlink(missing_ok=True)
            return
        checkpoints = np.unique(np.concatenate([strand.checkpoints for strand in strands]))
        rows: list[Floats] = []
        numbers: list[tuple[int, int]] = []
        seconds: list[float] = []
        for i, strand in enumerate(strands):
            places = np.searchsorted(checkpoints, strand.checkpoints)
            for run, played in sorted(strand.runs.items()):
                row = np.full(checkpoints.size, np.nan)  # where a policy that stops has no regret
                row[places] = played.regret
                rows.append(row)
                numbers.append((i, run))
                seconds.append(played.seconds)
        arrays: dict[str, Any] = {
            "checkpoints": checkpoints,
            "strand": np.array([i for i, _ in numbers], dtype=np.int32),
            "run": np.array([run for _, run in numbers], dtype=np.int32),
            "regret": np.array(rows),
            "seconds": np.array(seconds, dtype=np.float32),
        }
        facts = {"experiment": name, "strands": [msgspec.to_builtins(s.facts) for s in strands]}
        write_file(path, facts, arrays)

    @property
    def experiments(self) -> list[str]:
        """The names of the experiments that have a file."""
        return [name for name, strands in self._files.items() if any(s.runs for s in strands)]


def _read(path: Path) -> list[ArchivedStrand]:
    """Return the strands of a file."""
    facts, arrays = read_file(path)
    checkpoints, regret = arrays["checkpoints"], arrays["regret"]
    found = []
    for i, one in enumerate(facts["strands"]):
        rows = np.flatnonzero(arrays["strand"] == i)
        there = ~np.isnan(regret[rows[0]])
        strand = ArchivedStrand(msgspec.convert(one, StrandFacts), checkpoints[there])
        for row in rows:
            run = ArchivedRun(regret[row][there], float(arrays["seconds"][row]))
            strand.runs[int(arrays["run"][row])] = run
        found.append(strand)
    return found


def stale_experiments(folder: Path) -> set[str]:
    """Return the experiments of a folder with runs that other code has made than today's."""
    archive = RunArchive(folder)
    return {
        name
        for name in archive.experiments
        if any(strand.facts.is_stale for strand in archive.strands_of(name))
    }
