"""Read tender files, check whether bids are complete, and rank them (docs/tender.md); write a page of machines."""
