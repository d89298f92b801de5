"""The commands `place`, `links`, `nics` and `coordinates`."""
