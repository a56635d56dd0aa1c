"""`compare`: simulates several policies on the same users, and summarises them in a table."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from rich.console import Console
from rich.table import Table
from rich.text import Text

from clickrank._core.output_files import make_folder_of
from clickrank.clickmodels.click_model import ClickModel
from clickrank.errors import invalid
from clickrank.plots import Curve, regret_figure
from clickrank.policies.policy_spec import Policy
from clickrank.simulation.simulate_runs import check_applies, resolve, simulate
from clickrank.simulation.simulation_result import Result, load_results, save_results

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Row(NamedTuple):
    """One line of the summary, for one policy: regret at the horizon over runs, and speed."""

    policy: str
    mean: float
    low: float
    high: float
    median: float
    q05: float
    q95: float
    runs: int
    microseconds: float


def regret_text(regret: float) -> str:
    """Return a regret as text with one decimal, or with more if it is small.

    >>> regret_text(1234.56), regret_text(0.18765), regret_text(0.0)
    ('1,234.6', '0.188', '0.0')
    """
    return f"{regret:,.1f}" if abs(regret) >= 10.0 or regret == 0.0 else f"{regret:.3g}"


class Summary(tuple[Row, ...]):
    """Rows by increasing mean regret; printing it shows a table.

    ``note`` states which runs are missing, if any.
    """

    note: str

    def __new__(cls, rows: Iterable[Row], note: str = "") -> Self:
        """Store the rows in the order given."""
        made = super().__new__(cls, rows)
        made.note = note
        return made

    def table(self) -> Table:
        """Return the rows as a rich table."""
        table = Table(caption=Text(self.note) if self.note else None, caption_justify="left")
        heads = ("policy", "regret", "95 % interval", "median", "5 %", "95 %", "runs", "µs/round")
        for i, head in enumerate(heads):
            table.add_column(head, justify="left" if i == 0 else "right")
        for row in self:
            table.add_row(
                row.policy,
                regret_text(row.mean),
                f"{regret_text(row.low)} – {regret_text(row.high)}",
                *(regret_text(x) for x in (row.median, row.q05, row.q95)),
                f"{row.runs:,}",
                f"{row.microseconds:.2f}",
            )
        return table

    def __str__(self) -> str:
        """Return the table as text."""
        console = Console(file=io.StringIO(), width=110)
        console.print(self.table())
        assert isinstance(console.file, io.StringIO)
        return console.file.getvalue().rstrip()


class Comparison(Mapping[str, Result]):
    """Results by label, of policies that met the same users."""

    def __init__(self, results: dict[str, Result]) -> None:
        """Store the results in the order given."""
        self._results = results

    def __getitem__(self, label: str) -> Result:
        """Return the result of one policy."""
        return self._results[label]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the labels, in the order given to `compare`."""
        return iter(self._results)

    def __len__(self) -> int:
        """Return how many policies were compared."""
        return len(self._results)

    def __repr__(self) -> str:
        """Name the policies compared."""
        return f"Comparison({', '.join(self)})"

    def summary(self) -> Summary:
        """Return regret at the horizon and speed, best policy first."""
        rows = []
        for label, result in self.items():
            mean, low, high = (float(x[-1]) for x in result.interval())
            median, q05, q95 = (float(result.quantile(q)[-1]) for q in (0.5, 0.05, 0.95))
            speed = result.microseconds_per_round
            rows.append(Row(label, mean, low, high, median, q05, q95, result.runs, speed))
        partial = [
            f"{label} {result.runs:,} of {result.wanted:,} runs"
            for label, result in self.items()
            if result.interrupted
        ]
        note = f"interrupted: {', '.join(partial)}" if partial else ""
        return Summary(sorted(rows, key=lambda row: row.mean), note)

    def curves(self) -> list[Curve]:
        """Return the curves of all results, for a figure."""
        return [
            Curve(label, result.checkpoints, *result.interval()) for label, result in self.items()
        ]

    def plot(self, path: str | Path | None = None, **options: Any) -> Figure:
        """Draw mean regret with confidence bands; save it if a path is given.

        The folder of the file is made if it is missing.
        """
        figure = regret_figure(self.curves(), **options)
        if path is not None:
            figure.savefig(make_folder_of(path))
        return figure

    def save(self, path: str | Path) -> None:
        """Write everything to one ``.npz`` file, whose folder is made if it is missing."""
        save_results(Path(path), self._results)

    @classmethod
    def load(cls, path: str | Path) -> Comparison:
        """Read what `save` wrote."""
        return cls(load_results(Path(path)))


def compare(
    policies: Iterable[Policy | str] | Mapping[str, Policy | str],
    model: ClickModel,
    horizon: int,
    runs: int = 1,
    seed: int = 0,
    **options: Any,
) -> Comparison:
    """Simulate several policies on the same users; options are those of `simulate`.

    Policies are labelled by their names. A mapping from labels to policies chooses other labels,
    which two policies of one name need. Nothing runs unless every policy applies. Ctrl-C returns
    the finished runs.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.PBM([0.6, 0.4, 0.2], [0.9, 0.5])
    >>> table = cr.compare(["uniform", "pbm-ucb"], model, horizon=2000, runs=4, seed=0)
    >>> [row.policy for row in table.summary()]
    ['pbm-ucb', 'uniform']
    """
    if not isinstance(model, ClickModel):
        raise invalid("compare", "model must be a click model", model)
    named = _labelled(policies, model, horizon)
    for policy in named.values():
        check_applies(policy, model, options.get("allow_mismatch", False))
    results: dict[str, Result] = {}
    for label, policy in named.items():
        try:
            results[label] = simulate(policy, model, horizon, runs, seed, **options)
        except KeyboardInterrupt:
            break
        if results[label].interrupted:
            break
    if not results:
        raise KeyboardInterrupt
    return Comparison(results)


def _labelled(
    policies: Iterable[Policy | str] | Mapping[str, Policy | str], model: ClickModel, horizon: int
) -> dict[str, Policy]:
    if isinstance(policies, Mapping):
        return {label: resolve(policy, model, horizon) for label, policy in policies.items()}
    if isinstance(policies, (str, Policy)):
        policies = [policies]
    named: dict[str, Policy] = {}
    for given in policies:
        policy = resolve(given, model, horizon)
        if policy.name in named:
            rule = "policies must have different labels (give a mapping from labels to policies)"
            raise invalid("compare", rule, policy.name)
        named[policy.name] = policy
    if not named:
        raise invalid("compare", "policies must not be empty", list(named))
    return named
