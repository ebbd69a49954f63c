"""Attacks: what hostile models, documents, users and tenants try, and what must hold."""
