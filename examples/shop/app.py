"""A small shop whose product lists learn from clicks.

Run it with ``pip install flask`` and ``flask --app examples/shop/app.py run``. It uses one process
with any number of threads, because several processes would each learn from their own visitors only.
For several processes use the service, as docs/howto/serve.md describes.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from flask import Flask, abort, redirect, render_template, url_for
from werkzeug.wrappers import Response

import clickrank as cr

PRODUCTS = {
    "tea": ["assam", "chai", "darjeeling", "earl-grey", "jasmine", "mint", "oolong", "sencha"],
    "coffee": ["arabica", "decaf", "espresso", "filter", "lungo", "mocha", "ristretto"],
}
ALL = [product for products in PRODUCTS.values() for product in products]
N_POSITIONS = 4


class Visit(NamedTuple):
    """A list that was shown to a visitor, and its clicks so far."""

    shown_at: float
    items: tuple[str | int, ...]
    clicked: set[str]


class Shop:
    """A ranker, and the visits that may still have clicks.

    Parameters
    ----------
    file
        The file that stores the ranker between two starts.
    wait
        Seconds to wait for clicks. After that a visit without clicks counts as not clicked.
    save_every
        Seconds between two saves of the ranker.
    seed
        Makes the lists reproducible if there is no file yet.
    """

    def __init__(
        self,
        file: Path,
        wait: float = 600.0,
        save_every: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
        seed: int | None = None,
    ) -> None:
        """Load the ranker from the file if there is one."""
        self.file, self.wait, self.save_every, self.clock = file, wait, save_every, clock
        if file.exists():
            self.ranker = cr.Ranker.load(file)
        else:
            self.ranker = cr.Ranker("pb-mhb", ALL, N_POSITIONS, seed=seed)
        # The catalogue may have changed since the ranker was saved.
        if new := [product for product in ALL if product not in self.ranker.items]:
            self.ranker.add_items(new)
        if gone := [product for product in self.ranker.items if product not in ALL]:
            self.ranker.retire_items(gone)
        self._open: dict[str, Visit] = {}  # oldest first
        self._saved = clock()
        self._lock = threading.Lock()

    def show(self, category: str) -> cr.Shown:
        """Choose products of a category to show; the ranker learns separately for each category."""
        self.settle(self.clock() - self.wait)
        shown = self.ranker.rank(candidates=PRODUCTS[category], context=category)
        with self._lock:
            self._open[shown.id] = Visit(self.clock(), shown.items, set())
        return shown

    def click(self, impression: str, product: str) -> None:
        """Record a click; clicks on settled visits or on products not shown are ignored."""
        with self._lock:
            visit = self._open.get(impression)
            if visit is not None and product in visit.items:
                visit.clicked.add(product)

    def settle(self, before: float) -> None:
        """Learn from the lists shown before a time, and save the ranker at intervals."""
        with self._lock:
            due = [name for name, visit in self._open.items() if visit.shown_at <= before]
            for name in due:
                self.ranker.update(name, clicked=self._open.pop(name).clicked)
            if self.clock() >= self._saved + self.save_every:
                self.ranker.save(self.file)
                self._saved = self.clock()

    def close(self) -> None:
        """Learn from all remaining lists, and save the ranker."""
        self.settle(float("inf"))
        self.ranker.save(self.file)


def create_app(shop: Shop | None = None) -> Flask:
    """Return the application."""
    app = Flask(__name__)
    if shop is None:
        shop = Shop(Path("shop.ranker"))
        atexit.register(shop.close)

    @app.get("/")
    def home() -> Response:
        return redirect(url_for("category", name=next(iter(PRODUCTS))))

    @app.get("/<name>")
    def category(name: str) -> str:
        if name not in PRODUCTS:
            abort(404)
        shown = shop.show(name)
        return render_template("category.html", shown=shown, name=name, categories=PRODUCTS)

    @app.get("/go/<impression>/<product>")
    def go(impression: str, product: str) -> Response:
        if product not in ALL:
            abort(404)
        shop.click(impression, product)
        return redirect(url_for("detail", name=product))

    @app.get("/product/<name>")
    def detail(name: str) -> str:
        if name not in ALL:
            abort(404)
        return render_template("product.html", name=name)

    return app
