"""A client of the service, sync and async.

>>> from clickrank.client import Client
>>> with Client("http://127.0.0.1:8765") as client:  # doctest: +SKIP
...     client.create_ranker("shop", ["a", "b", "c", "d"], n_positions=3)
...     shown = client.rank("shop")
...     client.click(shown.id, ["b"])
"""

try:
    import httpx as _httpx  # noqa: F401
except ImportError as error:  # pragma: no cover
    from clickrank.errors import MissingExtra

    raise MissingExtra("The client needs httpx: pip install 'clickrank[client]'.") from error

from clickrank.client.clients import AsyncClient, Client
from clickrank.client.tries import ServiceError

__all__ = ["AsyncClient", "Client", "ServiceError"]
