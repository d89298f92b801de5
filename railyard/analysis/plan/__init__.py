"""How many launches and jobs find a difference."""
