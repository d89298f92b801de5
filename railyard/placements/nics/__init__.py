"""Express NIC policies, stack by stack, and prove from byte counters that one was obeyed."""
