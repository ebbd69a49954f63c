"""Alembic runs this file for each command: the revisions, in the transaction of the connection that `database.upgrade` passes.

Alone because Alembic looks for a file of this name.
"""

from __future__ import annotations

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table="vista_guard_schema",
    render_as_batch=True,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
