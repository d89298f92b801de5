"""C helpers of the virtual torus, and where their builds are."""
