"""NIC policies, stack by stack, and the proof that one was obeyed."""
