"""What is deployed: read as it stands, and started where Docker is there."""
