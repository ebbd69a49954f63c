"""What people say of reports, as far as writing and deleting reports has to know of it: tables, and who is queued."""
