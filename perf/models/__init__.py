"""Figures of models and simulations."""
