#!/bin/bash
# gridengine.sh: a job of Debian's Grid Engine, for real, as root. A master and two execution hosts run in network namespaces over
# an overlay of this machine, into which apt installs them: the machine itself keeps nothing. The job reads its nodes, places
# four ranks on them (random:2), starts the halo by Open MPI, and prints the host of each rank beside the placement.
set -eu
checkout=$(cd "$(dirname "$0")/.." && pwd)
[ "$(id -u)" -eq 0 ] || { echo "gridengine.sh: mounts an overlay as root; run as root" >&2; exit 2; }

# Outside: a copy of the machine, in memory, with the checkout in it.
if [ "${1:-}" = "" ]; then
    work=$(mktemp -d)
    trap 'rmdir "$work"' EXIT
    timeout 300 unshare --mount --uts --pid --fork "$checkout/perf/jobs/gridengine.sh" overlay "$work"
    exit
fi
if [ "$1" = overlay ]; then
    mount -t tmpfs none "$2"
    mkdir "$2/upper" "$2/work" "$2/root"
    mount -t overlay overlay -o "lowerdir=/,upperdir=$2/upper,workdir=$2/work" "$2/root"
    for folder in dev sys; do mount --rbind "/$folder" "$2/root/$folder"; done
    mount -t proc proc "$2/root/proc"
    for folder in tmp run; do mount -t tmpfs -o mode=1777 none "$2/root/$folder"; done
    mkdir -p "$2/root$checkout"
    mount --bind "$checkout" "$2/root$checkout"
    exec chroot "$2/root" "$checkout/perf/jobs/gridengine.sh" install
fi
export SGE_ROOT=/var/lib/gridengine SGE_CELL=default DEBIAN_FRONTEND=noninteractive PYTHONDONTWRITEBYTECODE=1
if [ "$1" = install ]; then
    hostname head
    printf '127.0.0.1 localhost\n127.0.0.1 head\n' >/etc/hosts
    printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
    chmod +x /usr/sbin/policy-rc.d
    { apt-get -qq update && apt-get -y -qq install --no-install-recommends gridengine-master gridengine-exec gridengine-client; } \
        >/tmp/installed 2>&1 </dev/null || { tail -n 3 /tmp/installed >&2; exit 1; }
    exec unshare --net "$checkout/perf/jobs/gridengine.sh" run
fi
if [ "$1" = job ]; then
    mkdir -p /tmp/job
    cd /tmp/job
    echo "pe_hostfile: $(cut -d ' ' -f 1,2 "$PE_HOSTFILE" | tr '\n' ';')"
    PYTHONPATH=$checkout "$checkout/.venv/bin/python" -c \
        'import os; from railyard.jobs import allocated_nodes; print(*allocated_nodes.names(os.environ), sep="\n")' >nodes
    "$checkout/.venv/bin/railyard" place unknown --nodes nodes --grid 4 --ranks-per-node 2 --placement random:2 \
        --launcher openmpi4 --output .
    mpirun.openmpi --allow-run-as-root -np 4 --map-by seq --hostfile placement.hostfile --bind-to none \
        --mca btl self,vader,tcp --mca btl_tcp_if_include eth0 "$checkout/build/benchmarks-openmpi/bin/halo" \
        --grid 2x2 --cells 8 --repeats 3 --json halo.json >/dev/null
    echo "placed:   $(tr '\n' ' ' <placement.hostfile)"
    python3 -c 'import json; print("reported:", *(rank["host"] for rank in json.load(open("halo.json"))["ranks"]))'
    exit
fi

# Inside, without a way out: a network of three hosts, and Grid Engine on it.
printf '127.0.0.1 localhost\n10.9.0.1 head\n10.9.0.11 n1\n10.9.0.12 n2\n' >/etc/hosts
ip link set lo up
ip link add br0 type bridge
ip addr add 10.9.0.1/24 dev br0
ip link set br0 up
for k in 1 2; do
    ip netns add n$k
    ip link add v$k type veth peer name eth0 netns n$k
    ip link set v$k master br0 up
    ip -n n$k addr add 10.9.0.1$k/24 dev eth0
    ip -n n$k link set eth0 up
    ip -n n$k link set lo up
done
echo head >$SGE_ROOT/default/common/act_qmaster
sge_qmaster
for _ in $(seq 20); do sleep 1; qconf -sh >/dev/null 2>&1 && break; done
mkdir /tmp/of
cd /tmp/of
qconf -sconf | sed 's/_uid .*/_uid 0/; s/_gid .*/_gid 0/' >global
cat >pe <<END
pe_name mpi
slots 999
user_lists NONE
xuser_lists NONE
start_proc_args NONE
stop_proc_args NONE
allocation_rule \$round_robin
control_slaves TRUE
job_is_first_task FALSE
urgency_slots min
qsort_args NONE
accounting_summary FALSE
END
printf 'group_name @allhosts\nhostlist n1 n2\n' >group
qconf -sq | sed 's/^qname .*/qname all.q/; s/^hostlist .*/hostlist @allhosts/; s/^slots .*/slots 2/; s/^pe_list .*/pe_list mpi/
    s/^shell_start_mode.*/shell_start_mode unix_behavior/; s/^load_thresholds.*/load_thresholds np_load_avg=1000/' >queue
{
    su sgeadmin -s /bin/sh -c "qconf -am root; qconf -ah n1,n2; qconf -as head,n1,n2"
    qconf -Mconf global
    for k in 1 2; do ip netns exec n$k unshare --uts sh -c "hostname n$k; exec sge_execd"; done
    sleep 4
    for option in -Ap:pe -Ahgrp:group -Aq:queue; do qconf "${option%:*}" "${option#*:}"; done
    printf '#!/bin/bash\nexec %s job\n' "$checkout/perf/jobs/gridengine.sh" >job.sh
    qsub -V -b n -pe mpi 4 -o /tmp/of/out -j y job.sh
} >/tmp/of/log 2>&1
for _ in $(seq 45); do sleep 2; [ -n "$(qstat -u '*')" ] || break; done
cat out || { tail -n 20 log >&2; exit 1; }
