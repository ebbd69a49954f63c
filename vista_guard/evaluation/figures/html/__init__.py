"""Reports as pages that can be sent around: one file each, without scripts, and nothing in it is fetched."""
