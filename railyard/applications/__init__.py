"""Read third-party programs' own output into railyard's benchmark output (docs/applications.md)."""
