"""Admit the sound nodes of a machine: find the slow ones in few launches."""
