"""Write the workflow of a continuous-integration service that runs railyard's checks (docs/howto/ci.md)."""
