"""Alembic's folder: `env.py`, and one revision in `versions/` for each change to the tables since `baseline`.

`database.upgrade` runs them. There is no alembic.ini: users upgrade with `vista-guard db upgrade`.
"""
