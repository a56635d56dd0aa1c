"""clickrank learns from clicks which items to show and in which order.

Importing this package loads neither NumPy nor Numba. Public names are imported on first use.
"""

from typing import TYPE_CHECKING

from clickrank._core.version import __version__ as __version__

__all__ = [
    "Comparison",
    "Learner",
    "ManyResults",
    "Ranker",
    "Result",
    "Shown",
    "bounds",
    "checks",
    "clickmodels",
    "compare",
    "errors",
    "evaluate",
    "fit",
    "kernels",
    "learning",
    "policies",
    "policy",
    "priors",
    "simulate",
    "simulate_many",
]

if TYPE_CHECKING:
    from clickrank import (
        bounds,
        checks,
        clickmodels,
        errors,
        evaluate,
        fit,
        kernels,
        learning,
        policies,
        priors,
    )
    from clickrank.learning import Learner, Ranker, Shown
    from clickrank.policies import policy
    from clickrank.simulation import (
        Comparison,
        ManyResults,
        Result,
        compare,
        simulate,
        simulate_many,
    )
else:  # hidden from type checkers, which would accept any name as public
    #: The module of each public name that is not itself a module.
    _HOMES = {
        "Comparison": "simulation",
        "Learner": "learning",
        "ManyResults": "simulation",
        "Ranker": "learning",
        "Result": "simulation",
        "Shown": "learning",
        "compare": "simulation",
        "policy": "policies",
        "simulate": "simulation",
        "simulate_many": "simulation",
    }

    def __getattr__(name):
        """Import a public name or a module of the package on first use."""
        import importlib.util

        from clickrank._core.lazy import imported

        is_module = name not in _HOMES and name.isidentifier() and not name.startswith("__")
        if is_module and importlib.util.find_spec(f"{__name__}.{name}") is not None:
            return importlib.import_module(f"{__name__}.{name}")
        found = globals()[name] = imported(__name__, _HOMES, name)
        return found

    def __dir__():
        return sorted({*globals(), *__all__})
