"""The probability of each item of a list, and of the list."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column; impressions on record have none."""
    op.add_column("impressions", sa.Column("propensities", sa.LargeBinary(), nullable=True))
