"""The durable log of a service: impressions, clicks and snapshots in SQLite or PostgreSQL."""

from clickrank.service.store.compaction import Compacted, compact
from clickrank.service.store.database import Database
from clickrank.service.store.verification import Verified, verify

__all__ = ["Compacted", "Database", "Verified", "compact", "verify"]
