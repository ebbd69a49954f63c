"""How databases of earlier versions come to the tables of this one, step by step, by Alembic."""
