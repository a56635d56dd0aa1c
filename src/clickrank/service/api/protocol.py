"""HTTP as the server reads it: what is not HTTP gets the JSON error of everything else."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from clickrank.service.api.replies import problem

LARGEST_HEAD = 1 << 16


class JsonErrors(HttpToolsProtocol):
    """uvicorn's protocol, with our error body and a limit on the size of a request's head."""

    _head_size = 0

    def data_received(self, data: bytes) -> None:
        """Take what came; the head of a request may come in pieces, but not for ever."""
        super().data_received(data)
        scope: Any = self.scope  # None before the first request
        if scope is None or "method" not in scope:  # the head is not complete
            self._head_size += len(data)
            if self._head_size > LARGEST_HEAD and not self.transport.is_closing():
                rule = f"The head of a request must have at most {LARGEST_HEAD:,} bytes."
                self._refuse(431, "head_too_large", rule)
        else:
            self._head_size = 0

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP."""
        self._refuse(400, "malformed_request", msg)

    def _refuse(self, status: int, code: str, message: str) -> None:
        reply = problem(status, code, message, [(b"connection", b"close")])
        lines = [f"HTTP/1.1 {status} Bad Request".encode()]
        lines += [name + b": " + value for name, value in reply.headers]
        lines += [f"content-length: {len(reply.body)}".encode(), b"", reply.body]
        self.transport.write(b"\r\n".join(lines))
        self.transport.close()
