"""Clients of the HTTP service. Users import them from `clickrank.client`."""

from clickrank._core.extras import require

require("The client needs", "client")

from clickrank.service.client.clients import AsyncClient, Client  # noqa: E402
from clickrank.service.client.retries import ServiceError  # noqa: E402

__all__ = ["AsyncClient", "Client", "ServiceError"]
