"""Changes of the tables, in their order; Alembic runs them."""
