#!/usr/bin/env bash
# A cluster that loses its scheduler, and workers that have too little memory.
#
# Usage, as root on Linux: tests/nightly/cluster/faults.sh PYTHON
# Needs: memory control groups (tried with version 1, not with 2), 1 GB of disk for a swap file.
# Takes ten to twenty minutes. Exit code: 0 no fault, 1 a fault.
source "$(dirname "$0")/common.sh"
where=tcp://127.0.0.1:8788

scheduler() {
    dask scheduler --host 127.0.0.1 --port 8788 --no-dashboard > scheduler.txt 2>&1 &
    crew+=($!)
}
# Two workers; a nanny starts each of them again when it dies. 'group': the file of a control group
# to which a process adds itself.
group=/dev/null
workers() { # OPTIONS
    sh -c "echo \$\$ > $group; exec dask worker $where --nworkers 2 --nthreads 1 --no-dashboard $*" \
        > workers.txt 2>&1 &
    crew+=($!)
}
two_workers_there() {
    "$python" -c "from distributed import Client
Client('$where', timeout=60).wait_for_workers(2, timeout=120)"
}
end_crew() {
    kill "${crew[@]}" 2> /dev/null || true
    if [ -f "$group" ]; then # with too little memory workers hardly end by themselves
        sleep 5
        xargs -r kill -KILL < "$group" 2> /dev/null || true
    fi
    wait "${crew[@]}" 2> /dev/null || true
    crew=()
}
crew=()
ending+=("end_crew")

words() { # RUN: the command of a fit
    echo "hiertopics fit docstrings.ldac -b hdp-cvb0 -s model.truncation=100" \
        "-s inference.shards=4 -s output.checkpoint_seconds=1 --iterations 60 -q -o $1"
}
$(words alone)

step "the scheduler dies during a fit"
scheduler
workers --memory-limit 0
two_workers_there
$(words lost) --cluster "$where" 2> said.txt &
until_true 120 has_checkpoint lost
kill -KILL "${crew[0]}"
code=0
wait $! || code=$?
expect "exit code 75" [ "$code" -eq 75 ]
expect "one line" one_line said.txt
end_crew
scheduler
workers --memory-limit 0
two_workers_there
$(words lost) --cluster "$where"
expect "the same command on another cluster went on to the same bytes" same_bytes alone lost
end_crew

step "Dask pauses both workers: they use more than 80% of --memory-limit"
scheduler
workers --memory-limit 260MB
two_workers_there
export DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL=30s # the fit waits so long, not five minutes
code=0
$(words paused) --cluster "$where" 2> said.txt || code=$?
unset DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL
cat said.txt
expect "the fit names a paused worker" grep -q "which Dask has paused" said.txt
expect "exit code 75" [ "$code" -eq 75 ]
expect "no traceback" [ "$(grep -c Traceback said.txt)" -eq 0 ]
end_crew
$(words paused)
expect "the same command without a cluster went on to the same bytes" same_bytes alone paused

if [ -d /sys/fs/cgroup/memory ]; then # version 1
    tree=/sys/fs/cgroup/memory/ht-$$
    limit=memory.limit_in_bytes usage=memory.usage_in_bytes
    swapped() { awk '$1 == "swap" { print int($2 / 1048576) " MiB" }' "$tree/memory.stat"; }
else
    echo +memory > /sys/fs/cgroup/cgroup.subtree_control
    tree=/sys/fs/cgroup/ht-$$
    limit=memory.max usage=memory.current
    swapped() { echo "$(($(cat "$tree/memory.swap.current") / 1048576)) MiB"; }
fi
mkdir "$tree"
ending+=("end_crew; sleep 1; rmdir $tree")
group=$tree/cgroup.procs
used() { cat "$tree/$usage"; }

step "workers that swap"
fallocate -l 1G swap
chmod 600 swap
mkswap swap > /dev/null
swapon swap
ending+=("swapoff $work/swap 2> /dev/null")
scheduler
workers --memory-limit 0
two_workers_there
began=$SECONDS
$(words warm) --cluster "$where"
echo "without a limit: $((SECONDS - began)) s, $(($(used) / 1048576)) MiB"
echo $(($(used) - 150 * 1048576)) > "$tree/$limit"
echo "the limit is now $(($(cat "$tree/$limit") / 1048576)) MiB, in swap: $(swapped)"
began=$SECONDS
$(words swapping) --cluster "$where"
echo "with the limit: $((SECONDS - began)) s, in swap: $(swapped)"
expect "the fit gave the same bytes" same_bytes alone swapping
end_crew
echo -1 > "$tree/$limit" 2> /dev/null || echo max > "$tree/$limit"
swapoff swap

step "workers that the kernel kills for lack of memory, again and again"
scheduler
workers --memory-limit 0
two_workers_there
$(words killed) --cluster "$where" 2> said.txt &
until_true 240 has_checkpoint killed
kill -STOP $!
echo "the workers use $(($(used) / 1048576)) MiB"
for pid in $(pgrep -P "${crew[1]}"); do kill -KILL "$pid"; done # fresh ones have not imported much
sleep 15
echo $(($(used) + 40 * 1048576)) > "$tree/$limit"
echo "the limit is now $(($(cat "$tree/$limit") / 1048576)) MiB"
kill -CONT $!
code=0
wait $! || code=$?
cat said.txt
grep -E "going back|stopped" killed/log.txt
expect "exit code 75" [ "$code" -eq 75 ]
expect "no traceback" [ "$(grep -c Traceback said.txt)" -eq 0 ]
end_crew
$(words killed)
expect "the same command without a cluster went on to the same bytes" same_bytes alone killed

finish
