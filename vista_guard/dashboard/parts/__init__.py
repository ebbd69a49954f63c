"""What all pages are made of: drawing, filters, addresses, labels and states."""
