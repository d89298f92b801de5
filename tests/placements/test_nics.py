"""NIC policies: what each means, how each stack is told, and the proof by bytes, with policies broken on purpose."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.commands import Run, ran

from railyard.base.errors import InputError
from railyard.base.verdict import Verdict
from railyard.placements.nics import evidence, policies, stacks, stating
from railyard.placements.nics.evidence import Sender
from railyard.placements.nics.stacks.named import OFI_OVER_TCP, UCX_OVER_TCP
from railyard.placements.topology import catalog

NODE = policies.host(catalog.load("dual-rail-small"), 4)


def told(policy: str, stack: str) -> stacks.Settings:
    return stacks.settings(policies.parse(policy, 2), stack, NODE)


@pytest.mark.parametrize(
    ("policy", "wanted"),
    [
        ("round-robin", ((0,), (1,), (0,), (1,))),
        ("nic-1", ((1,),) * 4),
        ("local-nic", ((0,), (0,), (1,), (1,))),
        ("stripe", ((0, 1),) * 4),
        ("library-default", ((),) * 4),
    ],
)
def test_a_policy_assigns_nics_to_local_ranks(policy: str, wanted: tuple[tuple[int, ...], ...]) -> None:
    assert policies.assign(policies.parse(policy, 2), NODE) == wanted


GOLDEN = {
    ("openmpi-tcp", "stripe"): {"OMPI_MCA_btl_tcp_if_include": "nic0,nic1"},
    ("ucx", "local-nic"): {"UCX_NET_DEVICES": "nic0,nic1", "UCX_MAX_RNDV_RAILS": "1"},
    ("ucx", "stripe"): {"UCX_NET_DEVICES": "nic0,nic1", "UCX_MAX_RNDV_RAILS": "2"},
    ("mpich-ofi", "local-nic"): {"MPIR_CVAR_CH4_OFI_MAX_NICS": "1"},
    ("mpich-ofi", "stripe"): {"MPIR_CVAR_CH4_OFI_MAX_NICS": "2", "MPIR_CVAR_CH4_OFI_ENABLE_MULTI_NIC_STRIPING": "1"},
    ("cray-mpich", "round-robin"): {"MPICH_OFI_NIC_POLICY": "ROUND-ROBIN"},
    ("cray-mpich", "nic-1"): {"MPICH_OFI_NUM_NICS": "1:1"},
    ("cray-mpich", "local-nic"): {"MPICH_OFI_NIC_POLICY": "NUMA"},
    ("mvapich2", "round-robin"): {
        "MV2_RAIL_SHARING_POLICY": "ROUND_ROBIN",
        "MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD": "1G",
    },
    ("mvapich2", "nic-1"): {"MV2_NUM_HCAS": "1", "MV2_IBA_HCA": "nic1"},
    ("mvapich2", "local-nic"): {
        "MV2_RAIL_SHARING_POLICY": "FIXED_MAPPING",
        "MV2_PROCESS_TO_RAIL_MAPPING": "0:0:1:1",
        "MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD": "1G",
    },
    ("mvapich2", "stripe"): {"MV2_NUM_HCAS": "2", "MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD": "16K"},
    ("psm", "round-robin"): {"IPATH_HCA_SELECTION_ALG": "Round Robin"},
    ("psm2", "stripe"): {"PSM2_MULTIRAIL": "1", "PSM2_MULTIRAIL_MAP": "0:1,1:1"},
    ("opx", "local-nic"): {"FI_OPX_HFI_SELECT": "numa:0:0,numa:1:1"},
    ("intel-mpi", "local-nic"): {"I_MPI_MULTIRAIL": "1"},
    ("ucx-tcp", "stripe"): {
        **UCX_OVER_TCP,
        "UCX_NET_DEVICES": "nic0,nic1",
        "UCX_MAX_RNDV_RAILS": "2",
        "UCX_MAX_EAGER_RAILS": "2",
    },
    ("cray-mpich-user", "round-robin"): {"MPICH_OFI_NIC_POLICY": "USER", "MPICH_OFI_NIC_MAPPING": "0:0,2;1:1,3"},
    ("cray-mpich-user", "nic-1"): {"MPICH_OFI_NIC_POLICY": "USER", "MPICH_OFI_NIC_MAPPING": "1:0,1,2,3"},
    ("cray-mpich-user", "local-nic"): {"MPICH_OFI_NIC_POLICY": "USER", "MPICH_OFI_NIC_MAPPING": "0:0,1;1:2,3"},
    ("psm3", "stripe"): {"PSM3_MULTIRAIL": "1", "PSM3_MULTIRAIL_MAP": "0:1,1:1"},
    ("gloo", "stripe"): {"GLOO_SOCKET_IFNAME": "nic0,nic1"},
    ("nccl-socket", "stripe"): {"NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": "=nic0,nic1"},
    ("nccl", "nic-1"): {"NCCL_IB_HCA": "=nic1"},
    ("nccl", "local-nic"): {"NCCL_IB_HCA": "=nic0,nic1", "NCCL_CROSS_NIC": "0"},
    ("nccl", "nearest"): {"NCCL_IB_HCA": "=nic0,nic1", "NCCL_CROSS_NIC": "0"},
    ("nccl", "on-rail"): {"NCCL_IB_HCA": "=nic0,nic1", "NCCL_CROSS_NIC": "0", "NCCL_PXN_DISABLE": "1"},
    ("nccl", "rail-local"): {
        "NCCL_IB_HCA": "=nic0,nic1",
        "NCCL_CROSS_NIC": "0",
        "NCCL_PXN_DISABLE": "0",
        "NCCL_P2P_PXN_LEVEL": "2",
    },
}
#: What a rank of a stack is told of the NIC {k}; `psm`, `mpich-ofi`, `ucx` and `opx` have another way for one policy.
OF_ONE_NIC = {
    "openmpi-tcp": {"OMPI_MCA_btl_tcp_if_include": "nic{k}"},
    "ucx": {"UCX_NET_DEVICES": "nic{k}"},
    "mpich-ofi": {"MPIR_CVAR_CH4_OFI_MAX_NICS": "1", "MPIR_CVAR_CH4_OFI_PREF_NIC": "{k}"},
    "psm": {"IPATH_UNIT": "{k}"},
    "psm2": {"PSM2_MULTIRAIL": "0", "HFI_UNIT": "{k}"},
    "opx": {"FI_OPX_HFI_SELECT": "{k}"},
    "ucx-tcp": {"UCX_NET_DEVICES": "nic{k}"},
    "ucx-tcp-unbound": {"UCX_NET_DEVICES": "nic{k}"},
    "ofi-tcp": {"FI_TCP_IFACE": "nic{k}"},
    "cxi": {"FI_CXI_DEVICE_NAME": "nic{k}"},
    "psm3": {"PSM3_MULTIRAIL": "0", "PSM3_NIC": "nic{k}"},
    "gloo": {"GLOO_SOCKET_IFNAME": "nic{k}"},
    "nccl-socket": {"NCCL_SOCKET_IFNAME": "=nic{k}"},
    "efa": {"FI_EFA_IFACE": "nic{k}"},
    "verbs": {"FI_VERBS_DEVICE_NAME": "nic{k}"},
}
ALWAYS = {
    **dict.fromkeys(("ucx-tcp", "ucx-tcp-unbound"), UCX_OVER_TCP),
    "ofi-tcp": OFI_OVER_TCP,
    "nccl-socket": {"NCCL_NET": "Socket"},
}
GOLDEN |= {
    (stack, "nic-1"): {**ALWAYS.get(stack, {}), **{name: value.format(k=1) for name, value in variables.items()}}
    for stack, variables in OF_ONE_NIC.items()
}
BY_RANK = {
    (stack, policy): [{name: value.format(k=k) for name, value in variables.items()} for k in nics]
    for stack, variables in OF_ONE_NIC.items()
    for policy, nics in (("round-robin", (0, 1, 0, 1)), ("local-nic", (0, 0, 1, 1)))
    if (stack, policy) not in GOLDEN
}


@pytest.mark.parametrize(("stack", "policy"), sorted(GOLDEN))
def test_a_stack_is_told_by_variables(stack: str, policy: str) -> None:
    assert (told(policy, stack).environment, told(policy, stack).by_local_rank) == (GOLDEN[stack, policy], ())


@pytest.mark.parametrize(("stack", "policy"), sorted(BY_RANK))
def test_a_stack_is_told_by_a_wrapper(stack: str, policy: str) -> None:
    assert list(told(policy, stack).by_local_rank) == BY_RANK[stack, policy]


def test_every_pair_of_the_table_has_a_golden() -> None:
    """Policies with GPUs are in tests/placements/test_gpus.py."""
    tested = {(stack, policies.parse(policy, 2).kind.name) for stack, policy in {**GOLDEN, **BY_RANK}}
    own = {(name, policy) for name, stack in stacks.stacks().items() for policy in stack.setters}
    assert tested == {(stack, policy) for stack, policy in own if not policies.policies()[policy].with_gpus}


@pytest.mark.parametrize("launcher", ["OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"])
def test_the_wrapper_sets_its_ranks_variable_and_becomes_the_program(launcher: str) -> None:
    script = told("local-nic", "psm").wrapper()
    command = ["sh", "-c", script, "wrapper", "sh", "-c", "echo $IPATH_UNIT $0 $1", "a b", "c"]
    said = [ran("env", "-i", "PATH=/usr/bin:/bin", f"{launcher}={k}", *command) for k in range(5)]
    assert [done.stdout for done in said[:4]] == ["0 a b c\n", "0 a b c\n", "1 a b c\n", "1 a b c\n"]
    assert said[4].returncode == 2 and "local rank '4', made for 0 to 3" in said[4].stderr


def test_nics_prints_what_to_paste(railyard: Run) -> None:
    done = railyard("nics", "--policy", "stripe", "--stack", "ucx", "--devices", "mlx5_0:1,mlx5_2:1")
    assert "export UCX_NET_DEVICES=mlx5_0:1,mlx5_2:1\nexport UCX_MAX_RNDV_RAILS=2\n" in done.stdout
    listed = railyard("nics").stdout
    assert all(name in listed for name in stacks.stacks())


def senders(*assigned: tuple[str, ...]) -> list[Sender]:
    """Two ranks a node, nodes a and b."""
    return [Sender(rank=k, node="ab"[k // 2], nics=chosen) for k, chosen in enumerate(assigned)]


def counted(**sent: int) -> dict[tuple[str, str], int]:
    """a0=5 is node a, nic0, 5 MB."""
    return {(name[0], f"nic{name[1]}"): size * 10**6 for name, size in sent.items()}


ONE, TWO, BOTH = ("nic0",), ("nic1",), ("nic0", "nic1")


def test_bytes_that_follow_the_policy_prove_it() -> None:
    for assigned, sent in (
        ((TWO,) * 4, counted(a0=0, a1=9, b0=0, b1=9)),
        ((ONE, TWO) * 2, counted(a0=4, a1=5, b0=5, b1=4)),
        ((BOTH,) * 4, counted(a0=4, a1=6, b0=6, b1=4)),
    ):
        assert evidence.judge(senders(*assigned), sent).verdict == Verdict.OBEYED


@pytest.mark.parametrize(
    ("assigned", "sent", "words"),
    [
        (
            (TWO,) * 4,
            counted(a0=0, a1=9, b0=9, b1=0),
            "rank 2 on b: 100.0 % of the node's bytes left by nic0, asked nic1",
        ),
        ((TWO,) * 4, counted(a0=2, a1=98, b0=0, b1=9), "rank 0 on a: 2.0 %"),
        (
            (ONE, TWO) * 2,
            counted(a0=9, a1=0, b0=5, b1=4),
            "rank 1 on a: 100.0 % of the node's bytes left by nic0, asked nic1",
        ),
        ((BOTH,) * 4, counted(a0=1, a1=19, b0=5, b1=5), "rank 0 on a: nic0 carried 5.0 % of a stripe"),
    ],
)
def test_a_policy_that_was_not_obeyed_names_the_first_rank(assigned, sent, words: str) -> None:  # type: ignore[no-untyped-def]
    found = evidence.judge(senders(*assigned), sent)
    assert found.verdict == Verdict.NOT_OBEYED and words in found.reason, found


def test_what_cannot_be_told_is_said_so() -> None:
    assert evidence.judge(senders(ONE, ONE), None).verdict == Verdict.CANNOT_TELL
    assert "library" in evidence.judge(senders((), ()), counted(a0=1)).reason
    quiet = evidence.judge(senders(ONE, ONE), {("a", "nic0"): 900})
    assert quiet.verdict == Verdict.CANNOT_TELL and "too few" in quiet.reason


@pytest.mark.parametrize(
    ("other", "verdict"), [(0, Verdict.OBEYED), (6_000, Verdict.OBEYED), (50_000, Verdict.NOT_OBEYED)]
)
def test_mpis_own_set_up_may_leave_by_another_nic(other: int, verdict: Verdict) -> None:
    """Two ranks of a node, of which each may have sent 4096 bytes by any NIC before its first message."""
    sent = {("a", "nic0"): other, ("a", "nic1"): 100_000}
    assert evidence.judge(senders(TWO, TWO), sent, setup_bytes=evidence.SETUP_BYTES).verdict == verdict
    assert (evidence.judge(senders(TWO, TWO), sent).verdict == Verdict.OBEYED) == (other == 0)


def test_a_launch_that_sent_little_more_than_its_set_up_proves_nothing() -> None:
    found = evidence.judge(senders(TWO, TWO), {("a", "nic1"): 30_000}, setup_bytes=evidence.SETUP_BYTES)
    assert found.verdict == Verdict.CANNOT_TELL and "too few" in found.reason


@pytest.mark.parametrize(
    ("policy", "stack", "stated", "words"),
    [
        ("nic-1", "gloo", "", "gloo was set by GLOO_SOCKET_IFNAME=nic1"),
        (
            "nic-1",
            "gloo",
            "GLOO_SOCKET_IFNAME=nic0",
            "GLOO_SOCKET_IFNAME=nic0 is wrong; nic-1 needs GLOO_SOCKET_IFNAME=nic1",
        ),
        (
            "nic-1",
            "gloo",
            "NCCL_SOCKET_IFNAME=nic1",
            "NCCL_SOCKET_IFNAME is no variable by which gloo chooses NICs; nic-1 needs GLOO_SOCKET_IFNAME=nic1",
        ),
        (
            "local-nic",
            "nccl",
            "NCCL_IB_HCA=nic0,nic1 NCCL_CROSS_NIC=1",
            "NCCL_IB_HCA=nic0,nic1 is wrong; NCCL_CROSS_NIC=1 is wrong; "
            "local-nic needs NCCL_IB_HCA==nic0,nic1 NCCL_CROSS_NIC=0",
        ),
        ("local-nic", "gloo", "GLOO_SOCKET_IFNAME=nic1", "local-nic needs GLOO_SOCKET_IFNAME=nic0|nic1"),
        ("library-default", "gloo", "GLOO_SOCKET_IFNAME=nic1", ""),
    ],
)
def test_the_wrong_one_of_stated_settings_is_named(policy: str, stack: str, stated: str, words: str) -> None:
    shown = stating.explained(policy, stack, NODE, stated)
    assert words in shown and bool(words) == bool(shown), shown


@pytest.mark.parametrize("text", ["nic1", "LD_PRELOAD=x", "A='b"])
def test_other_words_than_variables_are_no_settings(text: str) -> None:
    with pytest.raises(InputError, match="nic_settings"):
        stating.settings(text)


NAMES = [name for name, policy in policies.policies().items() if not policy.with_gpus and "-K" not in name]


@given(st.integers(1, 4), st.integers(1, 8), st.sampled_from([*NAMES, "nic-0"]))
def test_every_rank_gets_nics_that_exist(rails: int, ranks: int, name: str) -> None:
    on = policies.Host(nics=tuple(f"nic{k}" for k in range(rails)), nearest=(rails - 1,) * ranks)
    assigned = policies.assign(policies.parse(name, rails), on)
    assert len(assigned) == ranks and all(nic < rails for chosen in assigned for nic in chosen)


def test_a_missing_nic_is_refused_by_every_policy_name() -> None:
    with pytest.raises(InputError, match="nic-7"):
        policies.parse("nic-7", 2)
