"""Figures of jobs: batch systems, several programs, sites."""
