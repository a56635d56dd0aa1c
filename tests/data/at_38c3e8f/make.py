"""Write a saved ranker of every policy, a store, and the logs that are exported from it.

The files were written at the commit 38c3e8f, before parts of the package were renamed and moved.
Do not write them again: they show that what that version wrote is still opened. They were made
with a checkout of that commit in OLD:

    PYTHONPATH=OLD/src:. python tests/data/at_38c3e8f/make.py
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from clickrank.wire import NewRanker
from tests.test_files_from_before import exported, lists_that_follow

from tests.data.before.make import (
    ITEMS,
    RANKERS,
    make_rankers,
    make_store,
    write_archive,
    write_expected,
)

HERE = Path(__file__).parent
ODDS = NewRanker("odds", ITEMS, 3, "uniform", log_propensities=True)


def main() -> None:
    """Write everything."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rankers = {**RANKERS, "odds": ODDS}
        found = {"rankers": make_rankers(folder), "store": make_store(folder, rankers)}
        files = [*folder.glob("*.ranker"), folder / "store.db"]
        files += [exported(folder / "store.db", one, folder) for one in ("front", "odds")]
        write_archive(files, HERE)
        # Now that the store is in the archive, as this adds to its log.
        url = f"sqlite:///{folder / 'store.db'}"
        found["store"]["lists"] = asyncio.run(lists_that_follow(url, [*found["store"]["written"]]))
    write_expected(found, HERE)


if __name__ == "__main__":
    main()
