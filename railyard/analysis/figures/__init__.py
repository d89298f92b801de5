"""Draw a case: one module per family of figures, chosen by registry.py."""
