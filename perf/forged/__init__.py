"""Forge records of each benchmark at random: the honest records, the changes, and the table of what was accepted."""
