"""Simulated visitors that click on the lists of a ranker, for ``clickrank serve --demo``."""

from __future__ import annotations

import time

import numpy as np
import typer

from clickrank._core.defaults import DEFAULT_POLICY
from clickrank.clickmodels import PBM
from clickrank.service.client import Client, ServiceError
from clickrank.service.schemas.answers import Impression
from clickrank.service.schemas.requests import ClicksOf, RankRequest

NAME = "demo"
#: The items and their attractions: the probability of a click by a visitor who looks at one.
ATTRACTION = {
    "boiled rice": 0.005,
    "plain porridge": 0.005,
    "cheesecake": 0.08,
    "dry toast": 0.005,
    "cold soup": 0.015,
    "turnip salad": 0.01,
    "apple pie": 0.15,
    "rice cakes": 0.01,
    "lukewarm tea": 0.005,
    "yesterday's bagel": 0.01,
    "unsalted crackers": 0.005,
    "cinnamon roll": 0.06,
    "steamed cabbage": 0.005,
    "celery sticks": 0.01,
    "fruit salad": 0.015,
    "chocolate cake": 0.20,
    "half a lemon": 0.005,
    "oat biscuit": 0.015,
    "tap water": 0.005,
    "brownie": 0.11,
    "canned peas": 0.005,
    "white bread": 0.015,
    "prune juice": 0.005,
    "boiled egg": 0.01,
}
UNKNOWN = 0.03  # attraction of items that were added later
EXAMINATION = (1.0, 0.75, 0.6, 0.5, 0.4)
WINDOW = 60
#: Visitors come in groups, which saves requests: about 8 every 0.2 seconds, 40 per second.
GROUP, PAUSE = 8.0, 0.2
SEED = 1


def run_demo(url: str) -> None:
    """Send visitors to a ranker named "demo" until the service stops or the ranker is deleted."""
    rng = np.random.default_rng(SEED)
    with Client(url) as client:
        try:
            create_ranker(client)
            typer.echo(f"Simulated visitors arrive. Watch the ranker learn: {url}/#/rankers/{NAME}")
            while True:
                began = time.monotonic()
                count = int(rng.poisson(GROUP))
                if count:
                    _visit(client, count, rng)
                time.sleep(max(PAUSE - (time.monotonic() - began), 0.01))
        except ServiceError as error:
            if (
                error.status is not None
            ):  # otherwise the service has stopped, which it reports itself
                typer.echo(f"No more simulated visitors: {error}", err=True)


def create_ranker(client: Client) -> None:
    """Create the ranker of the demonstration, unless it exists already."""
    try:
        client.create_ranker(
            NAME, ATTRACTION, len(EXAMINATION), policy=DEFAULT_POLICY, window=WINDOW
        )
    except ServiceError as error:
        if error.code != "name_taken":  # a demo ranker of an earlier start may have been changed
            raise


def _visit(client: Client, count: int, rng: np.random.Generator) -> None:
    shown = client.rank_batch(NAME, [RankRequest() for _ in range(count)])
    client.click_batch(
        ClicksOf(id=one.id, clicked=clicks_on(one, rng), final=True) for one in shown.impressions
    )


def clicks_on(shown: Impression, rng: np.random.Generator) -> list[str]:
    """Draw the items that a visitor clicks on."""
    attraction = [ATTRACTION.get(item, UNKNOWN) for item in shown.items]
    # Positions after the last known one have its examination.
    examination = [EXAMINATION[min(k, len(EXAMINATION) - 1)] for k in range(len(attraction))]
    clicked = PBM(attraction, examination).sample(range(len(attraction)), rng)
    return [item for item, click in zip(shown.items, clicked, strict=True) if click]
