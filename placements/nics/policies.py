"""NIC policies: which NICs a rank sends through, and how each communication stack is told.

    round-robin      local rank k uses NIC k modulo the NICs (the "Default" of LLNL's multirail poster)
    nic-K            every rank uses NIC K ("NIC-0", "NIC-1")
    local-nic        the NIC nearest to the rank's socket (`Topology.nearest_rail`; "Local-NIC")
    stripe           every rank's large messages are split over all NICs
    library-default  the library is told nothing
    gpu-nearest      a rank sees one GPU near to it, and uses the NIC nearest to that GPU
    gpu-swapped      the same GPU, and the NIC farthest from it
    gpu-one          the same GPU, and every rank the NIC of the first rank's GPU

`assign` says what a policy means for each rank; `settings` how a stack is told: variables for all ranks, or a wrapper
script that sets them by local rank. What a stack cannot express is an InputError that names both and lists what it can.
Sources stand beside each entry. A NIC's ordinal means something only in the driver's own numbering, and a wrong one
fails silently in most stacks: byte counters must prove the choice (`placements.nics.evidence`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from placements.hosts.gpus import Pairs
from placements.launchers import local_rank_variables
from placements.topology.base import Topology
from railyard.base.errors import InputError


class Kind(StrEnum):
    """The policies there are; `nic` is written nic-K."""

    ROUND_ROBIN = "round-robin"
    NIC = "nic"
    LOCAL_NIC = "local-nic"
    STRIPE = "stripe"
    LIBRARY_DEFAULT = "library-default"
    GPU_NEAREST = "gpu-nearest"
    GPU_SWAPPED = "gpu-swapped"
    GPU_ONE = "gpu-one"


#: What local rank k sends through under each policy, for docs/placements.md.
POLICIES: Mapping[Kind, str] = {
    Kind.ROUND_ROBIN: "NIC k modulo the NICs (LLNL's poster: Default)",
    Kind.NIC: "NIC K (NIC-0, NIC-1)",
    Kind.LOCAL_NIC: "the NIC nearest to its socket (Local-NIC)",
    Kind.STRIPE: "all NICs, large messages split",
    Kind.LIBRARY_DEFAULT: "what the library chooses: railyard sets nothing",
    Kind.GPU_NEAREST: "the NIC nearest to the GPU that the rank sees",
    Kind.GPU_SWAPPED: "the NIC farthest from that GPU",
    Kind.GPU_ONE: "the NIC nearest to the GPU of the node's first rank",
}

#: Policies that give each rank a GPU of its node, too.
WITH_GPUS = frozenset({Kind.GPU_NEAREST, Kind.GPU_SWAPPED, Kind.GPU_ONE})


class Stack(StrEnum):
    """The communication stacks there are."""

    OPENMPI_TCP = "openmpi-tcp"
    UCX_TCP = "ucx-tcp"
    UCX_TCP_UNBOUND = "ucx-tcp-unbound"
    UCX = "ucx"
    OFI_TCP = "ofi-tcp"
    MPICH_OFI = "mpich-ofi"
    CXI = "cxi"
    CRAY_MPICH_USER = "cray-mpich-user"
    CRAY_MPICH = "cray-mpich"
    MVAPICH2 = "mvapich2"
    PSM = "psm"
    PSM2 = "psm2"
    PSM3 = "psm3"
    OPX = "opx"
    EFA = "efa"
    VERBS = "verbs"
    INTEL_MPI = "intel-mpi"
    NCCL = "nccl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A policy; `nic` is K of nic-K, else None."""

    kind: Kind
    nic: int | None = None

    def __str__(self) -> str:
        return f"nic-{self.nic}" if self.kind == Kind.NIC else str(self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What a policy must know of a node: its NICs' names, in the order of rails, and the nearest of each local rank.

    `gpus` are the GPUs of the local ranks; None where the node's description does not say them. `is_described`: the
    nearest NICs are those of the node's description, not of the topology's model.
    """

    nics: tuple[str, ...]
    nearest: tuple[int, ...]
    sockets: int = 1
    gpus: Pairs | None = None
    is_described: bool = False

    @property
    def ranks(self) -> int:
        return len(self.nearest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a stack is told: variables for every rank, and variables by local rank (empty: none differ)."""

    environment: Mapping[str, str] = field(default_factory=dict)
    by_local_rank: tuple[Mapping[str, str], ...] = ()

    def wrapper(self) -> str:
        """A shell script that sets the variables of its local rank and becomes the program; empty if none differ."""
        if not self.by_local_rank:
            return ""
        cases = "".join(
            f"{local}) export {' '.join(f'{name}={shlex.quote(value)}' for name, value in variables.items())} ;;\n"
            for local, variables in enumerate(self.by_local_rank)
        )
        return WRAPPER.format(cases=cases, ranks=len(self.by_local_rank), local_rank=_first_that_is_set())


WRAPPER = """\
#!/bin/sh
# Which NIC a rank uses, by its number on its node.
local={local_rank}
case $local in
{cases}*) echo "nic wrapper: local rank '$local', made for 0 to $(({ranks} - 1))" >&2; exit 2 ;;
esac
exec "$@"
"""


def _first_that_is_set() -> str:
    """Return the shell expression of a rank's number on its node, from whichever launcher started it."""
    *others, last = local_rank_variables()
    return "".join(f"${{{name}:-" for name in others) + f"${last}" + "}" * len(others)


def parse(text: str, nics: int) -> Policy:
    """The policy of a name; InputError for one that there is not, or a NIC that `nics` NICs do not have."""
    words = ", ".join([*(str(k) for k in Kind if k != Kind.NIC), *(f"nic-{k}" for k in range(nics))])
    found = re.fullmatch(r"nic-(\d{1,3})", text)
    if found and int(found[1]) < nics:
        return Policy(kind=Kind.NIC, nic=int(found[1]))
    if found or text == Kind.NIC or text not in set(Kind):
        raise InputError(
            "nics", "policy", text, f"{words} (the node has {nics} NIC{'s' if nics > 1 else ''})"
        )
    return Policy(kind=Kind(text))


def host(
    topology: Topology,
    ranks_per_node: int,
    names: Sequence[str] | None = None,
    nearest: Sequence[int] | None = None,
    *,
    gpus: Pairs | None = None,
) -> Host:
    """The NICs of a topology's nodes; without `names` as the virtual torus calls them.

    `nearest` is the nearest NIC of each local rank where a node's description says it; without it the topology's model.
    `gpus` are those of the local ranks, which a description alone says.
    A topology of one rail says nothing of NICs: any number of names is right.
    """
    rails = topology.rails if topology.rails > 1 or not names else len(names)
    if names is not None and len(names) != rails:
        raise InputError("--devices", "", ",".join(names), f"{rails} names, one for each rail")
    modelled = (local * topology.sockets_per_node // ranks_per_node for local in range(ranks_per_node))
    return Host(
        nics=tuple(names or (f"nic{rail}" for rail in range(rails))),
        nearest=tuple(nearest or (socket * rails // topology.sockets_per_node for socket in modelled)),
        sockets=topology.sockets_per_node,
        gpus=gpus,
        is_described=nearest is not None,
    )


def assign(policy: Policy, on: Host) -> tuple[tuple[int, ...], ...]:
    """The NICs that each local rank sends through; empty tuples where the policy leaves that to the library."""
    match policy.kind:
        case Kind.ROUND_ROBIN:
            return tuple((local % len(on.nics),) for local in range(on.ranks))
        case Kind.NIC:
            assert policy.nic is not None
            return ((policy.nic,),) * on.ranks
        case Kind.LOCAL_NIC:
            return tuple((nic,) for nic in on.nearest)
        case Kind.STRIPE:
            return (tuple(range(len(on.nics))),) * on.ranks
        case Kind.LIBRARY_DEFAULT:
            return ((),) * on.ranks
        case Kind.GPU_NEAREST:
            return tuple((pair.near,) for pair in _gpus(policy, on).of_rank)
        case Kind.GPU_SWAPPED:
            return tuple((pair.far,) for pair in _gpus(policy, on).of_rank)
        case Kind.GPU_ONE:
            first, *_ = _gpus(policy, on).of_rank
            return ((first.near,),) * on.ranks


def gpus(policy: Policy, on: Host) -> tuple[str, ...]:
    """Return the GPU that each local rank is to see, as its runtime is told; empty for a policy without GPUs."""
    if policy.kind not in WITH_GPUS:
        return ()
    return tuple(str(pair.gpu) for pair in _gpus(policy, on).of_rank)


def _gpus(policy: Policy, on: Host) -> Pairs:
    if on.gpus is None:
        valid = "a node whose GPUs and NICs have a NUMA domain in its description (railyard where)"
        raise InputError("nics", "policy", str(policy), valid)
    return on.gpus


def kinds(stack: Stack) -> list[Kind]:
    """Return the policies that a stack can express."""
    own = [kind for kind in TABLE[stack] if kind not in WITH_GPUS]
    with_gpus = [kind for kind in Kind if kind in WITH_GPUS and _teller(kind, stack)]
    return [*own, Kind.LIBRARY_DEFAULT, *with_gpus]


def _teller(kind: Kind, stack: Stack) -> Teller | None:
    """Return how a stack is told of a policy; one with GPUs needs a stack that is told each rank's NIC."""
    known = TABLE[stack]
    if kind in WITH_GPUS and kind not in known:
        return known.get(BY_RANK[stack]) if stack in BY_RANK else None
    return known.get(kind)


def settings(policy: Policy, stack: str, on: Host) -> Settings:
    """Return how a stack is told of a policy.

    Raises InputError for a stack that there is not, and for a policy that the stack cannot express.
    """
    if stack not in set(Stack):
        raise InputError("nics", "stack", stack, ", ".join(Stack))
    if policy.kind == Kind.LIBRARY_DEFAULT:
        return Settings(environment=DEFAULTS.get(Stack(stack), {}))
    teller = _teller(policy.kind, Stack(stack))
    if teller is None:
        able = ", ".join("nic-K" if kind == Kind.NIC else str(kind) for kind in kinds(Stack(stack)))
        raise InputError("nics", "policy", str(policy), f"with {stack}: {able}")
    told = teller(policy, on)
    return _with_gpus(policy, on, told) if policy.kind in WITH_GPUS else told


def _with_gpus(policy: Policy, on: Host, told: Settings) -> Settings:
    """Add the variable that shows each rank its GPU, which every launcher passes on in the same way."""
    runtime = _gpus(policy, on).runtime
    own = told.by_local_rank or ({},) * on.ranks
    by_rank = tuple(
        {**variables, **runtime.always, runtime.variable: gpu}
        for variables, gpu in zip(own, gpus(policy, on), strict=True)
    )
    return Settings(environment=told.environment, by_local_rank=by_rank)


def needs_binding(policy: Policy, stack: str) -> bool:
    """Return whether a stack finds the nearest NIC by where the rank may run: an unbound rank has none."""
    return policy.kind == Kind.LOCAL_NIC and stack in BY_BINDING


Teller = Callable[[Policy, Host], Settings]


def _all(**environment: str) -> Teller:
    """The same variables for every rank. `{k}` is the policy's NIC, `{nic}` its name, `{n}` the number of NICs."""

    def tell(policy: Policy, on: Host) -> Settings:
        k = policy.nic or 0
        words = {"k": k, "nic": on.nics[k], "n": len(on.nics), "nics": ",".join(on.nics)}
        return Settings(environment={name: value.format(**words) for name, value in environment.items()})

    return tell


def _each(**environment: str) -> Teller:
    """Variables by local rank. `{k}` is the NIC that the policy assigns to it, `{nic}` its name."""

    def tell(policy: Policy, on: Host) -> Settings:
        return Settings(
            by_local_rank=tuple(
                {name: value.format(k=nic, nic=on.nics[nic]) for name, value in environment.items()}
                for (nic,) in assign(policy, on)
            )
        )

    return tell


def _mapped(**environment: str) -> Teller:
    """One variable lists the NIC of every local rank: `{ranks}` as 0:0:1:1."""

    def tell(policy: Policy, on: Host) -> Settings:
        ranks = ":".join(str(nic) for (nic,) in assign(policy, on))
        return Settings(environment={name: value.format(ranks=ranks) for name, value in environment.items()})

    return tell


def _numa_selectors(policy: Policy, on: Host) -> Settings:
    """numa:UNIT:NODE for each NUMA node (a socket each)."""
    nics = [socket * len(on.nics) // on.sockets for socket in range(on.sockets)]
    text = ",".join(f"numa:{nic}:{socket}" for socket, nic in enumerate(nics))
    return Settings(environment={"FI_OPX_HFI_SELECT": text})


def _units(library: str) -> Teller:
    """List every unit's first port: 0:1,1:1. `library` begins the names of the variables."""

    def tell(policy: Policy, on: Host) -> Settings:
        ports = ",".join(f"{unit}:1" for unit in range(len(on.nics)))
        return Settings(environment={f"{library}_MULTIRAIL": "1", f"{library}_MULTIRAIL_MAP": ports})

    return tell


def _user_mapping(policy: Policy, on: Host) -> Settings:
    """List the local ranks of each NIC: 0:0,2;1:1,3."""
    ranks: dict[int, list[str]] = {}
    for local, (nic,) in enumerate(assign(policy, on)):
        ranks.setdefault(nic, []).append(str(local))
    text = ";".join(f"{nic}:{','.join(ranks[nic])}" for nic in sorted(ranks))
    return Settings(environment={"MPICH_OFI_NIC_POLICY": "USER", "MPICH_OFI_NIC_MAPPING": text})


#: What makes each MPI use UCX over TCP, or libfabric's tcp provider; an MPI does not know the others' variables.
_UCX_TCP = {
    "OMPI_MCA_pml": "ucx",
    "OMPI_MCA_pml_ucx_tls": "any",
    "OMPI_MCA_pml_ucx_devices": "any",
    "MPIR_CVAR_CH4_NETMOD": "ucx",
    "UCX_TLS": "tcp,self,sm",
}
_OFI_TCP = {
    "OMPI_MCA_pml": "cm",
    "OMPI_MCA_mtl": "ofi",
    "OMPI_MCA_mtl_ofi_provider_include": "tcp",
    "MPIR_CVAR_CH4_NETMOD": "ofi",
    "FI_PROVIDER": "tcp",
}


def _with(always: Mapping[str, str], teller: Teller) -> Teller:
    """Set variables for all ranks besides those of `teller`."""

    def tell(policy: Policy, on: Host) -> Settings:
        told = teller(policy, on)
        return Settings(environment={**always, **told.environment}, by_local_rank=told.by_local_rank)

    return tell


_ONE_UCX_TCP_DEVICE: Mapping[Kind, Teller] = {
    Kind.ROUND_ROBIN: _with(_UCX_TCP, _each(UCX_NET_DEVICES="{nic}")),
    Kind.NIC: _with(_UCX_TCP, _all(UCX_NET_DEVICES="{nic}")),
    Kind.LOCAL_NIC: _with(_UCX_TCP, _each(UCX_NET_DEVICES="{nic}")),
}

TABLE: Mapping[Stack, Mapping[Kind, Teller]] = {
    # Open MPI, docs, tuning-apps/networking/tcp ("How do I tell Open MPI which IP interfaces to use?"):
    # btl_tcp_if_include; several interfaces of equal btl_tcp_bandwidth share each large message. A rank binds its
    # connections to the address of its interface (opal/mca/btl/tcp/btl_tcp_endpoint.c), so the sender decides.
    # btl_tcp_if_seq, which dealt interfaces to local ranks, is gone since 4.1: hence the wrapper.
    Stack.OPENMPI_TCP: {
        Kind.ROUND_ROBIN: _each(OMPI_MCA_btl_tcp_if_include="{nic}"),
        Kind.NIC: _all(OMPI_MCA_btl_tcp_if_include="{nic}"),
        Kind.LOCAL_NIC: _each(OMPI_MCA_btl_tcp_if_include="{nic}"),
        Kind.STRIPE: _all(OMPI_MCA_btl_tcp_if_include="{nics}"),
    },
    # The same over TCP, from UCX 1.17 on, which binds a connection to the address of its device
    # (UCX_TCP_EP_BIND_SRC_ADDR) and then reaches only what the device has a route to. TCP devices have no distance to a
    # core, so a wrapper chooses the nearest.
    Stack.UCX_TCP: {
        **_ONE_UCX_TCP_DEVICE,
        Kind.STRIPE: _with(
            _UCX_TCP, _all(UCX_NET_DEVICES="{nics}", UCX_MAX_RNDV_RAILS="{n}", UCX_MAX_EAGER_RAILS="{n}")
        ),
    },
    # Older UCX leaves the NIC of a connection to the routing table. Ranks that open one device talk to a peer's one
    # address, and the table decides; of two lanes to one peer nothing makes the second leave by the second device.
    Stack.UCX_TCP_UNBOUND: _ONE_UCX_TCP_DEVICE,
    # UCX, FAQ ("How to specify which devices to use", "What is the default number of rails"): UCX_NET_DEVICES takes
    # DEVICE:PORT; rendezvous uses UCX_MAX_RNDV_RAILS devices (default 2), eager UCX_MAX_EAGER_RAILS (default 1), the
    # nearest first.
    Stack.UCX: {
        Kind.ROUND_ROBIN: _each(UCX_NET_DEVICES="{nic}"),
        Kind.NIC: _all(UCX_NET_DEVICES="{nic}"),
        Kind.LOCAL_NIC: _all(UCX_NET_DEVICES="{nics}", UCX_MAX_RNDV_RAILS="1"),
        Kind.STRIPE: _all(UCX_NET_DEVICES="{nics}", UCX_MAX_RNDV_RAILS="{n}"),
    },
    # libfabric, fi_tcp(7): FI_TCP_IFACE requests a network interface. One interface per rank.
    Stack.OFI_TCP: {
        Kind.ROUND_ROBIN: _with(_OFI_TCP, _each(FI_TCP_IFACE="{nic}")),
        Kind.NIC: _with(_OFI_TCP, _all(FI_TCP_IFACE="{nic}")),
        Kind.LOCAL_NIC: _with(_OFI_TCP, _each(FI_TCP_IFACE="{nic}")),
    },
    # MPICH, src/mpid/ch4/netmod/ofi/ofi_nic.c (MPIR_CVAR_CH4_OFI_PREF_NIC; default: the nearest by hwloc) and
    # doc/wiki "Multi-NIC" (MAX_NICS, ENABLE_MULTI_NIC_STRIPING, off by default, above a threshold of 1 MiB).
    Stack.MPICH_OFI: {
        Kind.ROUND_ROBIN: _each(MPIR_CVAR_CH4_OFI_MAX_NICS="1", MPIR_CVAR_CH4_OFI_PREF_NIC="{k}"),
        Kind.NIC: _all(MPIR_CVAR_CH4_OFI_MAX_NICS="1", MPIR_CVAR_CH4_OFI_PREF_NIC="{k}"),
        Kind.LOCAL_NIC: _all(MPIR_CVAR_CH4_OFI_MAX_NICS="1"),
        Kind.STRIPE: _all(MPIR_CVAR_CH4_OFI_MAX_NICS="{n}", MPIR_CVAR_CH4_OFI_ENABLE_MULTI_NIC_STRIPING="1"),
    },
    # libfabric, fi_cxi(7): FI_CXI_DEVICE_NAME restricts the provider to a list of devices (cxi0,cxi1), for Open MPI and
    # MPICH; Cray MPICH has its own policies. A rank opens one device.
    Stack.CXI: {
        Kind.ROUND_ROBIN: _each(FI_CXI_DEVICE_NAME="{nic}"),
        Kind.NIC: _all(FI_CXI_DEVICE_NAME="{nic}"),
        Kind.LOCAL_NIC: _each(FI_CXI_DEVICE_NAME="{nic}"),
    },
    # Cray MPICH, intro_mpi(3): MPICH_OFI_NIC_POLICY=USER takes each NIC's local ranks from MPICH_OFI_NIC_MAPPING, so
    # that unbound ranks have a nearest NIC, too.
    Stack.CRAY_MPICH_USER: {
        Kind.ROUND_ROBIN: _user_mapping,
        Kind.NIC: _user_mapping,
        Kind.LOCAL_NIC: _user_mapping,
    },
    # Cray MPICH, intro_mpi(3): MPICH_OFI_NIC_POLICY (default BLOCK), MPICH_OFI_NUM_NICS "count:indices".
    Stack.CRAY_MPICH: {
        Kind.ROUND_ROBIN: _all(MPICH_OFI_NIC_POLICY="ROUND-ROBIN"),
        Kind.NIC: _all(MPICH_OFI_NUM_NICS="1:{k}"),
        Kind.LOCAL_NIC: _all(MPICH_OFI_NIC_POLICY="NUMA"),
        Kind.GPU_NEAREST: _all(MPICH_OFI_NIC_POLICY="GPU", MPICH_GPU_SUPPORT_ENABLED="1"),
    },
    # MVAPICH2 2.3 user guide, sections 11.38 to 11.40: USE_FIRST, ROUND_ROBIN, FIXED_MAPPING; messages above
    # MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD (16K) are striped over all rails under any of them.
    Stack.MVAPICH2: {
        Kind.ROUND_ROBIN: _all(
            MV2_RAIL_SHARING_POLICY="ROUND_ROBIN", MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD="1G"
        ),
        Kind.NIC: _all(MV2_NUM_HCAS="1", MV2_IBA_HCA="{nic}"),
        Kind.LOCAL_NIC: _mapped(
            MV2_RAIL_SHARING_POLICY="FIXED_MAPPING",
            MV2_PROCESS_TO_RAIL_MAPPING="{ranks}",
            MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD="1G",
        ),
        Kind.STRIPE: _all(MV2_NUM_HCAS="{n}", MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD="16K"),
    },
    # PSM (TrueScale), psm_context.c: IPATH_HCA_SELECTION_ALG is "Round Robin" (default) or "Packed", IPATH_UNIT fixes
    # the unit. No source says that a released PSM splits one message over units.
    Stack.PSM: {
        Kind.ROUND_ROBIN: _all(IPATH_HCA_SELECTION_ALG="Round Robin"),
        Kind.NIC: _all(IPATH_UNIT="{k}"),
        Kind.LOCAL_NIC: _each(IPATH_UNIT="{k}"),
    },
    # PSM2, psm_ep.c and Open MPI docs "Omni-Path": PSM2_MULTIRAIL 0 off (default), 1 all units, 2 those of the NUMA
    # node; PSM2_MULTIRAIL_MAP unit:port,...; HFI_UNIT fixes the unit. Its own selection prefers the rank's NUMA node,
    # so alternation needs the wrapper.
    Stack.PSM2: {
        Kind.ROUND_ROBIN: _each(PSM2_MULTIRAIL="0", HFI_UNIT="{k}"),
        Kind.NIC: _all(PSM2_MULTIRAIL="0", HFI_UNIT="{k}"),
        Kind.LOCAL_NIC: _each(PSM2_MULTIRAIL="0", HFI_UNIT="{k}"),
        Kind.STRIPE: _units("PSM2"),
    },
    # PSM3, prov/psm3/psm3/psm_ep.c and psm_ep_multirail.c: PSM3_NIC fixes the NIC by name or unit; PSM3_MULTIRAIL and
    # PSM3_MULTIRAIL_MAP are PSM2's.
    Stack.PSM3: {
        Kind.ROUND_ROBIN: _each(PSM3_MULTIRAIL="0", PSM3_NIC="{nic}"),
        Kind.NIC: _all(PSM3_MULTIRAIL="0", PSM3_NIC="{nic}"),
        Kind.LOCAL_NIC: _each(PSM3_MULTIRAIL="0", PSM3_NIC="{nic}"),
        Kind.STRIPE: _units("PSM3"),
    },
    # libfabric fi_opx(7): FI_OPX_HFI_SELECT is UNIT, or TYPE:UNIT:DATA selectors (numa, core). One unit a rank.
    Stack.OPX: {
        Kind.ROUND_ROBIN: _each(FI_OPX_HFI_SELECT="{k}"),
        Kind.NIC: _all(FI_OPX_HFI_SELECT="{k}"),
        Kind.LOCAL_NIC: _numa_selectors,
    },
    # libfabric, fi_efa(7): FI_EFA_IFACE lists the devices that an application sees.
    Stack.EFA: {
        Kind.ROUND_ROBIN: _each(FI_EFA_IFACE="{nic}"),
        Kind.NIC: _all(FI_EFA_IFACE="{nic}"),
        Kind.LOCAL_NIC: _each(FI_EFA_IFACE="{nic}"),
    },
    # libfabric, fi_verbs(7): FI_VERBS_DEVICE_NAME names one verbs device.
    Stack.VERBS: {
        Kind.ROUND_ROBIN: _each(FI_VERBS_DEVICE_NAME="{nic}"),
        Kind.NIC: _all(FI_VERBS_DEVICE_NAME="{nic}"),
        Kind.LOCAL_NIC: _each(FI_VERBS_DEVICE_NAME="{nic}"),
    },
    # Intel MPI Library developer reference, "NIC Pinning": I_MPI_MULTIRAIL deals the NICs to the ranks
    # of a node by their nearness. Choosing one NIC is the libfabric provider's matter.
    Stack.INTEL_MPI: {Kind.LOCAL_NIC: _all(I_MPI_MULTIRAIL="1")},
    # NCCL user guide, "Environment Variables": NCCL_IB_HCA (= begins an exact name) and NCCL_CROSS_NIC; RCCL reads the
    # same ones. A GPU takes its nearest NICs of those listed, so ranks that are dealt NICs in turn have no variable.
    Stack.NCCL: {
        Kind.NIC: _all(NCCL_IB_HCA="={nic}"),
        Kind.LOCAL_NIC: _all(NCCL_IB_HCA="={nics}", NCCL_CROSS_NIC="0"),
    },
}

#: The document that each stack's variables come from.
SOURCES: Mapping[Stack, str] = {
    Stack.OPENMPI_TCP: "Open MPI, [networking/tcp](https://docs.open-mpi.org/en/v5.0.x/tuning-apps/networking/tcp.html)",
    Stack.UCX_TCP: "UCX FAQ; [UCX pull request 9839](https://github.com/openucx/ucx/pull/9839)",
    Stack.UCX_TCP_UNBOUND: "the same, before UCX 1.17",
    Stack.UCX: "[UCX FAQ](https://openucx.readthedocs.io/en/master/faq.html)",
    Stack.OFI_TCP: "[fi_tcp(7)](https://ofiwg.github.io/libfabric/main/man/fi_tcp.7.html)",
    Stack.MPICH_OFI: "MPICH, src/mpid/ch4/netmod/ofi/ofi_nic.c",
    Stack.CXI: "[fi_cxi(7)](https://ofiwg.github.io/libfabric/main/man/fi_cxi.7.html)",
    Stack.CRAY_MPICH_USER: "[intro_mpi(3)](https://cpe.ext.hpe.com/docs/mpt/mpich/intro_mpi.html)",
    Stack.CRAY_MPICH: "[intro_mpi(3)](https://cpe.ext.hpe.com/docs/mpt/mpich/intro_mpi.html)",
    Stack.MVAPICH2: "MVAPICH2 user guide 2.3, 11.38 to 11.40",
    Stack.PSM: "PSM, psm_context.c",
    Stack.PSM2: "PSM2, psm_ep.c; Open MPI FAQ, [Omni-Path](https://www.open-mpi.org/faq/?category=opa)",
    Stack.PSM3: "libfabric, prov/psm3/psm3/psm_ep.c",
    Stack.OPX: "[fi_opx(7)](https://ofiwg.github.io/libfabric/main/man/fi_opx.7.html)",
    Stack.EFA: "[fi_efa(7)](https://ofiwg.github.io/libfabric/main/man/fi_efa.7.html)",
    Stack.VERBS: "[fi_verbs(7)](https://ofiwg.github.io/libfabric/main/man/fi_verbs.7.html)",
    Stack.INTEL_MPI: "Intel MPI developer reference, NIC Pinning",
    Stack.NCCL: "[NCCL user guide](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html)",
}

#: The policy by which a stack is told the NIC of each rank, whatever assigned it.
BY_RANK: Mapping[Stack, Kind] = {
    Stack.MVAPICH2: Kind.LOCAL_NIC,
    **{
        stack: Kind.ROUND_ROBIN
        for stack in Stack
        if stack not in {Stack.CRAY_MPICH, Stack.MVAPICH2, Stack.PSM, Stack.INTEL_MPI, Stack.NCCL}
    },
}
#: Stacks that choose the nearest NIC themselves, by the CPUs that a rank may run on.
BY_BINDING = frozenset({Stack.CRAY_MPICH, Stack.UCX, Stack.MPICH_OFI, Stack.OPX, Stack.INTEL_MPI})
#: What a site's modules often change, set back to the library's own default: a record's `library-default` is that.
#: Cray MPICH, intro_mpi(3): BLOCK. Under a site's NUMA an unbound rank ends in MPI_Init.
DEFAULTS: Mapping[Stack, Mapping[str, str]] = {Stack.CRAY_MPICH: {"MPICH_OFI_NIC_POLICY": "BLOCK"}}
