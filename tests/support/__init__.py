"""Helpers and generators that tests of several rooms share."""
