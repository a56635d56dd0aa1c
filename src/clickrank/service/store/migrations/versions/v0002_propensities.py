"""Adds the probabilities of the items of a list, and of its beginnings."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column; it is empty for impressions logged before."""
    op.add_column("impressions", sa.Column("propensities", sa.LargeBinary(), nullable=True))
