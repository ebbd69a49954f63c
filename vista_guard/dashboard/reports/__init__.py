"""What the pages read: stored reports of the tenants that the viewer may see, without the drafts that they may not."""
