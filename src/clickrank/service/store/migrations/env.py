"""Entry point of Alembic; `Database.upgrade` passes a connection inside a transaction."""

from alembic import context

from clickrank.service.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
