"""Where knowledge, documents and reports are kept. Import the store you use: each loads its own vendor."""
