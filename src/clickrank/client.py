"""Clients of the service, synchronous and asynchronous.

>>> from clickrank.client import Client
>>> with Client("http://127.0.0.1:8765") as client:  # doctest: +SKIP
...     client.create_ranker("shop", ["a", "b", "c", "d"], n_positions=3)
...     shown = client.rank("shop")
...     client.click(shown.id, ["b"])
"""

from clickrank.service.client import AsyncClient, Client, ServiceError

__all__ = ["AsyncClient", "Client", "ServiceError"]
