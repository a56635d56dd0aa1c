"""clickrank learns from clicks which items to show and in which order.

Importing it loads neither NumPy nor Numba: each public name is imported when it is first used.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

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
    from clickrank.learning import Learner
    from clickrank.policies import policy
    from clickrank.ranker import Ranker, Shown
    from clickrank.simulation import (
        Comparison,
        ManyResults,
        Result,
        compare,
        simulate,
        simulate_many,
    )
else:  # hidden from type checkers, which would take any name for a public one
    #: Where each public name that is not a module comes from.
    _HOMES = {
        "Comparison": "simulation",
        "Learner": "learning",
        "ManyResults": "simulation",
        "Ranker": "ranker",
        "Result": "simulation",
        "Shown": "ranker",
        "compare": "simulation",
        "policy": "policies",
        "simulate": "simulation",
        "simulate_many": "simulation",
    }

    def __getattr__(name):
        """Import a public name, or a module of the package, when it is first used."""
        import importlib.util

        from clickrank._lazy import imported

        is_module = name not in _HOMES and name.isidentifier() and not name.startswith("__")
        if is_module and importlib.util.find_spec(f"{__name__}.{name}") is not None:
            return importlib.import_module(f"{__name__}.{name}")
        found = globals()[name] = imported(__name__, _HOMES, name)
        return found

    def __dir__():
        return sorted({*globals(), *__all__})
