"""Sections of the bench on the gate of references: over made-up histories, over degraded runs, and in a workflow."""
