"""The files that the replayed command lines read; the same bytes on every machine."""

from __future__ import annotations

import itertools
import json
import random
import shutil
import zipfile
from pathlib import Path

from tests.replay.where import ROOT

ITEMS = ("tea", "cups", "pots", "trays")
ATTRACTION = {"tea": 0.55, "cups": 0.4, "pots": 0.25, "trays": 0.1}
EXAMINATION = (0.9, 0.5)


def write_inputs(folder: Path) -> None:
    """Write them all into a folder."""
    _write_lists(folder / "log.csv", ("shop", "mail"), 400)
    _write_lists(folder / "plain.csv", ("shop",), 200, propensities=False)
    _write_counts(folder / "counts.csv")
    bad = (folder / "plain.csv").read_text().splitlines()
    bad[7:7] = ["7,shop,one,tea,0", "7,shop,2,tea,maybe"]
    (folder / "odd.csv").write_text("\n".join(bad) + "\n")
    (folder / "empty.csv").write_text("impression_id,query,position,item,click\n")
    (folder / "words.txt").write_text("no log at all\n")
    shutil.copy(ROOT / "tests/data/kdd12_track2_training_head5.txt", folder / "training.txt")
    shutil.copy(ROOT / "tests/data/yandex_pws_doc_example.txt", folder / "yandex.txt")
    with zipfile.ZipFile(ROOT / "tests/data/at_38c3e8f/files.zip") as archive:
        archive.extract("store.db", folder)
    pbm = {"model": "pbm", "attraction": [0.5, 0.3, 0.1], "examination": [1.0, 0.5]}
    (folder / "model.json").write_text(json.dumps(pbm))
    (folder / "model.toml").write_text(
        'model = "dcm"\nattraction = [0.5, 0.3, 0.2]\nsatisfaction = [0.7, 0.4]\n'
    )
    (folder / "nameless.json").write_text(json.dumps({"attraction": [0.5]}))
    (folder / "broken.json").write_text('{"model": "pbm",')


def _write_lists(path: Path, queries: tuple[str, ...], n: int, propensities: bool = True) -> None:
    """Write lists in random order, and what visitors who look at positions clicked."""
    draw = random.Random(5)
    rankings = list(itertools.permutations(ITEMS, 2))
    heads = ["impression_id", "query", "position", "item", "click"]
    heads += ["propensity", "prefix_propensity"] if propensities else []
    rows = [",".join(heads)]
    for number, query in itertools.product(range(n), queries):
        shown = rankings[int(draw.random() * len(rankings))]
        odds = ((0.25, 0.25), (0.25, 1 / 12))
        for place, item in enumerate(shown):
            click = int(draw.random() < ATTRACTION[item] * EXAMINATION[place])
            row = [f"{query}-{number}", query, place + 1, item, click]
            rows.append(",".join(map(str, [*row, *(odds[place] if propensities else ())])))
    path.write_text("\n".join(rows) + "\n")


def _write_counts(path: Path) -> None:
    """Write how often each item was shown and clicked at each position."""
    rows = ["query,url,pos,impressions,clicks"]
    for item, place in itertools.product(ITEMS, range(2)):
        clicks = round(1000 * ATTRACTION[item] * EXAMINATION[place])
        rows.append(f"shop,{item},{place + 1},1000,{clicks}")
    path.write_text("\n".join(rows) + "\n")
