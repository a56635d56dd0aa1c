"""Simulated visitors over HTTP, who click as in the position-based model."""

from __future__ import annotations

import random
from collections.abc import Mapping

import httpx

EXAMINATION = (1.0, 0.7, 0.5, 0.35)
BATCH = 25


def send_visitors(
    address: str, ranker: str, attraction: Mapping[str, float], n: int, seed: int
) -> None:
    """Request ``n`` lists and report final clicks on each."""
    rng = random.Random(seed)
    with httpx.Client(base_url=address, trust_env=False, timeout=30.0) as client:
        for _ in range(n // BATCH):
            requests: list[dict[str, str]] = [{} for _ in range(BATCH)]
            answer = client.post(f"/v1/rankers/{ranker}/rank/batch", json={"requests": requests})
            answer.raise_for_status()
            clicks = []
            for shown in answer.json()["impressions"]:
                looks = zip(shown["items"], EXAMINATION, strict=False)
                clicked = [item for item, seen in looks if rng.random() < seen * attraction[item]]
                clicks.append({"id": shown["id"], "clicked": clicked, "final": True})
            client.post("/v1/clicks/batch", json={"clicks": clicks}).raise_for_status()
