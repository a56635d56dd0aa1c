"""The shop in examples: it learns from its visitors, and knows it after a restart."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from flask.testing import FlaskClient

from examples.shop import app as shop_app
from examples.shop.app import Shop, create_app

LIKED = {"sencha": 0.9, "mint": 0.6, "mocha": 0.9, "decaf": 0.6}  # the others: 0.05
EXAMINATION = (1.0, 0.7, 0.5, 0.4)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def links(client: FlaskClient, category: str) -> list[str]:
    page = client.get(f"/{category}")
    assert page.status_code == 200
    found = re.findall(r'href="(/go/[^"]+)"', page.text)
    assert len(found) == shop_app.N_POSITIONS
    return found


def product(link: str) -> str:
    return link.rpartition("/")[2]


def visit(client: FlaskClient, category: str, rng: np.random.Generator) -> int:
    """Look at a page as people do, and return the number of clicks."""
    clicks = 0
    for link, looked in zip(links(client, category), EXAMINATION, strict=True):
        if rng.random() < looked * LIKED.get(product(link), 0.05):
            answer = client.get(link)
            assert answer.status_code == 302
            assert answer.location == f"/product/{product(link)}"
            clicks += 1
    return clicks


def test_it_learns_and_survives_a_restart(tmp_path: Path) -> None:
    # Without seeds 3 of 600 shops still doubted, after 400 visits, which product is the best.
    rng, clock = np.random.default_rng(0), Clock()
    shop = Shop(tmp_path / "shop.ranker", wait=600, save_every=3600, clock=clock, seed=0)
    client = create_app(shop).test_client()
    clicks = []
    for _ in range(400):
        clock.now += 10
        clicks.append(sum(visit(client, category, rng) for category in ("tea", "coffee")))
    assert np.mean(clicks[-100:]) > 1.5 * np.mean(clicks[:40])
    assert shop.file.exists()  # saved on the way
    assert 100 < shop.ranker.pending < 140  # of the last ten minutes, two every ten seconds
    shop.close()
    assert shop.ranker.pending == 0

    again = create_app(Shop(tmp_path / "shop.ranker", clock=clock)).test_client()
    for category, best in (("tea", "sencha"), ("coffee", "mocha")):
        first = [product(links(again, category)[0]) for _ in range(20)]
        assert first.count(best) >= 15, (category, first)


def test_clicks_that_cannot_be_count_for_nothing(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop.ranker")
    client = create_app(shop).test_client()
    link = links(client, "tea")[0]
    elsewhere = link.replace(product(link), "mocha")
    assert client.get(elsewhere).status_code == 302
    assert client.get("/go/nothing-1/mocha").status_code == 302
    assert client.get(link.replace(product(link), "gin")).status_code == 404
    assert client.get("/gin").status_code == 404
    assert client.get("/product/gin").status_code == 404
    assert client.get("/").location == "/tea"
    assert client.get("/product/mocha").status_code == 200
    shop.close()
    assert client.get(link).status_code == 302  # too late to be counted, not to be followed


def test_the_catalogue_may_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Shop(tmp_path / "shop.ranker").close()
    monkeypatch.setattr(shop_app, "ALL", [*shop_app.ALL[1:], "matcha"])
    ranker = Shop(tmp_path / "shop.ranker").ranker
    assert ranker.items[-1] == "matcha"
    assert ranker.retired == ("assam",)
