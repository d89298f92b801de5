"""railyard: the command line and what every room shares (one error class). The rooms do the work."""

__version__ = "0.1.0"
