"""Deletes snapshots of earlier statistics, which are computed again from the log.

The prior of PB-MHB was part of its counts, and would count twice now; GRAB, S-GRAB, TopRank and
UniRank had statistics of the items in use, and have them of all items now.
"""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Remove all snapshots but those that stand for impressions that were compacted away."""
    op.execute(
        "DELETE FROM snapshots WHERE seq > "
        "(SELECT base_seq FROM streams WHERE streams.id = snapshots.stream_id)"
    )
