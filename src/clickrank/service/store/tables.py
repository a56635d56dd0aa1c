"""Tables of the store. Rows of impressions, clicks and finals never change; `compact` deletes them.

Times are whole microseconds since 1970, UTC. Lists are JSON, so that people can read them.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
    }
)

# SQLite assigns ids only if the type is INTEGER.
_Number = BigInteger().with_variant(Integer, "sqlite")

rankers = Table(
    "rankers",
    metadata,
    Column("id", _Number, primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("version", Integer, nullable=False),  # increases by one with each change
    Column("window", BigInteger, nullable=False),  # microseconds
    Column("definition", Text, nullable=False),  # a `Definition`
    Column("created_at", BigInteger, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
    sqlite_autoincrement=True,  # ids are never reused
)

changes = Table(
    "changes",
    metadata,
    Column("ranker_id", _Number, ForeignKey("rankers.id"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("change", Text, nullable=False),
)

streams = Table(
    "streams",
    metadata,
    Column("id", _Number, primary_key=True),
    Column("ranker_id", _Number, ForeignKey("rankers.id"), nullable=False),
    Column("context", String(200), nullable=False),
    Column("next_seq", BigInteger, nullable=False),
    Column("folded_seq", BigInteger, nullable=False),  # the frontier: folded in up to here
    Column("base_seq", BigInteger, nullable=False),  # compacted away up to here
    Column("last_at", BigInteger, nullable=False),  # when the last list was shown
    Column("folded_at", BigInteger, nullable=False),  # when the frontier was moved
    UniqueConstraint("ranker_id", "context"),
    sqlite_autoincrement=True,  # ids are never reused
)

impressions = Table(
    "impressions",
    metadata,
    Column("stream_id", _Number, ForeignKey("streams.id"), primary_key=True),
    Column("seq", BigInteger, primary_key=True),
    Column("id", String(64), nullable=False, unique=True),
    Column("version", Integer, nullable=False),  # of the ranker
    Column(
        "state_seq", BigInteger, nullable=False
    ),  # the seq of the snapshot that it was chosen from
    Column("shown_at", BigInteger, nullable=False),
    Column("items", Text, nullable=False),  # item numbers, one per position
    Column("memo", Text, nullable=False),
    Column("would_show", Text, nullable=True),  # the ranker's list, if the page showed another
    Column("exploring", Boolean, nullable=False),
    # The probability of each item at its position, then of each beginning of the list, as
    # little-endian floats of 8 bytes. Null if not requested, or if the page showed another list.
    Column("propensities", LargeBinary, nullable=True),
    sqlite_with_rowid=False,
)

clicks = Table(
    "clicks",
    metadata,
    Column("stream_id", _Number, ForeignKey("streams.id"), primary_key=True),
    Column("seq", BigInteger, primary_key=True),
    Column("position", Integer, primary_key=True),  # from 0 on
    Column("clicked_at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

finals = Table(
    "finals",
    metadata,
    Column("stream_id", _Number, ForeignKey("streams.id"), primary_key=True),
    Column("seq", BigInteger, primary_key=True),
    Column("at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("stream_id", _Number, ForeignKey("streams.id"), primary_key=True),
    Column("seq", BigInteger, primary_key=True),  # folded in up to here
    Column("version", Integer, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("statistics", LargeBinary, nullable=False),
)

activity = Table(
    "activity",
    metadata,
    Column("stream_id", _Number, ForeignKey("streams.id"), primary_key=True),
    Column("bucket", BigInteger, primary_key=True),  # the time at which it begins
    Column("impressions", BigInteger, nullable=False),
    Column("clicked", BigInteger, nullable=False),
    Column("clicks", BigInteger, nullable=False),
    Column("exploring", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

keys = Table(
    "keys",
    metadata,
    Column("id", _Number, primary_key=True),
    Column("name", String(100), nullable=False),
    Column("role", String(10), nullable=False),
    Column("hash", String(64), nullable=False, unique=True),
    Column("created_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger, nullable=True),
    sqlite_autoincrement=True,  # ids are never reused
)

# Finds the streams with impressions to fold.
Index(
    "ix_streams_lagging",
    streams.c.id,
    sqlite_where=streams.c.next_seq > streams.c.folded_seq + 1,
    postgresql_where=streams.c.next_seq > streams.c.folded_seq + 1,
)
