"""Write saved rankers and a store of the policies whose statistics were laid out anew since.

The files were written at the commit bf3a85a, when BatchRank, PMED, RecurRank and TopRank still kept
beside their statistics what is computed from them now. The statistics of the other 34 policies
have the same names, types and shapes since. Do not write the files again: they show that what that
version wrote is still opened. They were made with a checkout of that commit in OLD:

    PYTHONPATH=OLD/src:. python tests/data/at_bf3a85a/make.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from clickrank.wire import NewRanker

from tests.data.before.make import (
    FEATURES,
    ITEMS,
    make_rankers,
    make_store,
    write_archive,
    write_expected,
)

HERE = Path(__file__).parent
NAMES = ("batchrank", "pmed", "recurrank", "toprank")
RANKERS = {
    "rows": NewRanker("rows", ITEMS, 3, "recurrank", {"horizon": 1000, "features": FEATURES[:6]}),
    "search": NewRanker("search", ITEMS, 3, "toprank", {"horizon": 1000}),
    "stages": NewRanker("stages", ITEMS, 3, "batchrank", {"horizon": 1000}),
}
#: In a store of its own.
PLANS = {"plans": NewRanker("plans", ITEMS, 3, "pmed")}


def main() -> None:
    """Write everything."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = {"rankers": make_rankers(folder, NAMES)}
        found["plans"] = make_store(folder, PLANS)
        (folder / "store.db").rename(folder / "plans.db")
        found["store"] = make_store(folder, RANKERS)
        files = [*folder.glob("*.ranker"), folder / "plans.db", folder / "store.db"]
        write_archive(files, HERE)
    write_expected(found, HERE)


if __name__ == "__main__":
    main()
