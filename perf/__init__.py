"""`make bench`: the figures that documents and issues quote, measured side by side in one run. Never a test."""
