"""The link-load model: traffic, bytes and seconds per link, heat maps."""
