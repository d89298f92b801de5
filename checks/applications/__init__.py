"""Checks of third-party programs: OSU, GPCNeT, mini-applications. One file per program, over `checks.application`."""
