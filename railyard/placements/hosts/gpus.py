"""Assign a GPU and a NIC to each local rank, from the description of a node; no side effects.

Models: GPUs in the order of their PCI addresses, which is that of CUDA (with CUDA_DEVICE_ORDER=PCI_BUS_ID), ROCm and
Level Zero. The nearest NIC has the smallest distance of NUMA domains and, among equals, the longest common part of the
PCI paths, such as a NIC behind the GPU's own PCI switch. NICs as near as each other, such as two behind that switch or
two ports of one adapter, are dealt to the GPUs in turn. Leaves out: links between GPUs, parts of GPUs (tiles, MIG),
verifying the result.

Sources: CUDA C programming guide, "CUDA environment variables"; ROCm documentation, "GPU isolation techniques"; Level
Zero specification, "Environment variables", ZE_AFFINITY_MASK.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from railyard.placements.hosts.node import Binding, NodeLayout


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """The environment variable that restricts the GPUs which a vendor's runtime shows to a process.

    `always` are variables that every rank needs, so that the GPUs are numbered by PCI address.
    """

    variable: str
    always: Mapping[str, str] = field(default_factory=dict)


#: PCI vendor id -> runtime.
RUNTIMES: Mapping[str, Runtime] = {
    "0x10de": Runtime(variable="CUDA_VISIBLE_DEVICES", always={"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}),
    "0x1002": Runtime(variable="ROCR_VISIBLE_DEVICES"),
    "0x8086": Runtime(variable="ZE_AFFINITY_MASK"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RankGpu:
    """A local rank's GPU, and the NICs nearest to and farthest from that GPU, as indices into the node's NICs."""

    gpu: int
    near: int
    far: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankGpus:
    """The pair of every local rank, and the runtime of these GPUs."""

    of_rank: tuple[RankGpu, ...]
    runtime: Runtime


def pairs(layout: NodeLayout, nics: Sequence[str], ranks_per_node: int, binding: Binding) -> RankGpus | None:
    """Return every local rank's GPU and NICs; None where the node does not show its GPUs or where its NICs are.

    The GPUs nearest to a rank's NUMA domain are dealt to the ranks of the domain in turn.
    """
    runtime = RUNTIMES.get(layout.gpu_vendor)
    where = [layout.nics.get(name.partition(":")[0], -1) for name in nics]
    if runtime is None or not layout.gpus or not where or min([*where, *layout.gpus.values()]) < 0:
        return None
    dealt = layout.dealt(list(layout.gpus.values()), ranks_per_node, binding)
    return RankGpus(of_rank=tuple(_pair(layout, gpu, nics) for gpu in dealt), runtime=runtime)


def any_pairs(ranks_per_node: int) -> RankGpus:
    """Return pairs that only show what a policy with GPUs takes, for as long as no node has described itself."""
    return RankGpus(of_rank=(RankGpu(gpu=0, near=0, far=0),) * ranks_per_node, runtime=Runtime(variable="GPU"))


def _pair(layout: NodeLayout, gpu: int, nics: Sequence[str]) -> RankGpu:
    address, domain = list(layout.gpus.items())[gpu]

    def farness(index: int) -> tuple[int, int]:
        name = nics[index].partition(":")[0]
        paths = [list(filter(None, layout.places.get(one, "").split("/"))) for one in (address, name)]
        return layout.distance(domain, layout.nics[name]), -common(*paths)

    far = list(map(farness, range(len(nics))))
    nearest, farthest = ([index for index in range(len(far)) if far[index] == end] for end in (min(far), max(far)))
    return RankGpu(gpu=gpu, near=nearest[gpu % len(nearest)], far=farthest[gpu % len(farthest)])


def common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of equal words, such as bridges of a PCI path, with which two sequences begin."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
