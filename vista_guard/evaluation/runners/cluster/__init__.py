"""A run on a Ray cluster: many workers that judge, behind the seam of one system. Needs the extra `ray`."""
