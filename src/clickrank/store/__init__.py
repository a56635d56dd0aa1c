"""The durable log of a service: impressions, clicks and snapshots in SQLite or PostgreSQL."""

from clickrank.store.compaction import Compacted, compact
from clickrank.store.database import Database
from clickrank.store.verification import Verified, verify

__all__ = ["Compacted", "Database", "Verified", "compact", "verify"]
