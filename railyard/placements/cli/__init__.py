"""Define the commands `place`, `links`, `nics` and `coordinates`."""
