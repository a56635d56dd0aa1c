"""Fast kernels of policies, one file per algorithm, with the same rankings as the plain ones.

Each file has a Cache of values that need not be computed again in every round, `build`, which
computes it from the statistics, and kernels that keep it up to date. Shared parts are in `_shared`.
"""

import importlib
import pkgutil

for _found in pkgutil.iter_modules(__path__, f"{__name__}."):
    importlib.import_module(_found.name)  # each registers its kernels
