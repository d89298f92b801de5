"""What many records show together: over dates, over sizes, over allocations."""
