"""The store of a service: rows and bytes in SQLite or PostgreSQL, and nothing that learns."""
