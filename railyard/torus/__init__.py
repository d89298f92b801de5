"""The machine you do not have: a virtual torus of network namespaces. plan (pure) -> apply (the kernel)."""
