"""Tenders: what is requested, whether a bid is complete, how bids compare (docs/tender.md)."""
