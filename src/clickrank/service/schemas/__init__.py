"""Schemas of the HTTP API: field types, bodies of requests and bodies of answers."""
