"""Stores of knowledge, documents, reports and reviews.

`chroma` keeps knowledge and documents in a folder or on a server, `memory` for one process. `reports` keeps reports in SQLite
or Postgres, and `reviews` in the same database people's reviews of them. `entries` has what stores share. The
protocols are in `vista_guard.protocols`; docs/design/stores.md says why the stores are as they are.
"""
