"""Third-party programs' own output, read into railyard's benchmark output (docs/applications.md)."""
