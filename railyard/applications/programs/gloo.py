"""Read `gloo_perf` (benchmarks/gloo), which prints the table of nccl-tests for collectives of PyTorch's Gloo."""

from __future__ import annotations

from railyard.applications.programs.nccl_tests import parse

__all__ = ["parse"]
