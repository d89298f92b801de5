"""Figures of records, tenders and the archive."""
