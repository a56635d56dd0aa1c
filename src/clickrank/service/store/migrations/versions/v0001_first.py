"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_LAGGING = sa.text("next_seq > folded_seq + 1")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "keys",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("role", sa.String(length=10), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_keys")),
        sa.UniqueConstraint("hash", name=op.f("uq_keys_hash")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "rankers",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("window", sa.BigInteger(), nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rankers")),
        sa.UniqueConstraint("name", name=op.f("uq_rankers_name")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "changes",
        sa.Column("ranker_id", _NUMBER, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("change", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["ranker_id"], ["rankers.id"], name=op.f("fk_changes_ranker_id")),
        sa.PrimaryKeyConstraint("ranker_id", "version", name=op.f("pk_changes")),
    )
    op.create_table(
        "streams",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("ranker_id", _NUMBER, nullable=False),
        sa.Column("context", sa.String(length=200), nullable=False),
        sa.Column("next_seq", sa.BigInteger(), nullable=False),
        sa.Column("folded_seq", sa.BigInteger(), nullable=False),
        sa.Column("base_seq", sa.BigInteger(), nullable=False),
        sa.Column("last_at", sa.BigInteger(), nullable=False),
        sa.Column("folded_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["ranker_id"], ["rankers.id"], name=op.f("fk_streams_ranker_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_streams")),
        sa.UniqueConstraint("ranker_id", "context", name=op.f("uq_streams_ranker_id_context")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_streams_lagging",
        "streams",
        ["id"],
        unique=False,
        sqlite_where=_LAGGING,
        postgresql_where=_LAGGING,
    )
    op.create_table(
        "activity",
        sa.Column("stream_id", _NUMBER, nullable=False),
        sa.Column("bucket", sa.BigInteger(), nullable=False),
        sa.Column("impressions", sa.BigInteger(), nullable=False),
        sa.Column("clicked", sa.BigInteger(), nullable=False),
        sa.Column("clicks", sa.BigInteger(), nullable=False),
        sa.Column("exploring", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["stream_id"], ["streams.id"], name=op.f("fk_activity_stream_id")),
        sa.PrimaryKeyConstraint("stream_id", "bucket", name=op.f("pk_activity")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "clicks",
        sa.Column("stream_id", _NUMBER, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("clicked_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["stream_id"], ["streams.id"], name=op.f("fk_clicks_stream_id")),
        sa.PrimaryKeyConstraint("stream_id", "seq", "position", name=op.f("pk_clicks")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "finals",
        sa.Column("stream_id", _NUMBER, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["stream_id"], ["streams.id"], name=op.f("fk_finals_stream_id")),
        sa.PrimaryKeyConstraint("stream_id", "seq", name=op.f("pk_finals")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "impressions",
        sa.Column("stream_id", _NUMBER, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("state_seq", sa.BigInteger(), nullable=False),
        sa.Column("shown_at", sa.BigInteger(), nullable=False),
        sa.Column("items", sa.Text(), nullable=False),
        sa.Column("memo", sa.Text(), nullable=False),
        sa.Column("would_show", sa.Text(), nullable=True),
        sa.Column("exploring", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["stream_id"], ["streams.id"], name=op.f("fk_impressions_stream_id")
        ),
        sa.PrimaryKeyConstraint("stream_id", "seq", name=op.f("pk_impressions")),
        sa.UniqueConstraint("id", name=op.f("uq_impressions_id")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "snapshots",
        sa.Column("stream_id", _NUMBER, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("statistics", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["stream_id"], ["streams.id"], name=op.f("fk_snapshots_stream_id")),
        sa.PrimaryKeyConstraint("stream_id", "seq", "version", name=op.f("pk_snapshots")),
    )
