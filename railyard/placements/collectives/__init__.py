"""Collectives as a policy: the algorithms' schedules, how each library is set to use one, and the proof that it did."""
