"""Checks of third-party programs: OSU, GPCNeT, mini-applications. One file a program, over `checks.application`."""
