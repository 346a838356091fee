#!/usr/bin/env bash
# A cluster across a slow link: two network namespaces, and folders that workers do not see.
#
# Usage, as root on Linux: tests/nightly/cluster/link.sh PYTHON
# Needs: ip and tc (apt-get install iproute2), /dev/net/tun.
# Scheduler and fit are in one namespace, two workers in the other. The link between them takes
# 25 ms in each direction and passes 20 Mbit/s. Takes ten to twenty minutes. Exit code: 0 no fault,
# 1 a fault.
source "$(dirname "$0")/common.sh"
A=10.99.0.1 B=10.99.0.2

step "two namespaces and a slow link"
for space in ht-fit ht-work; do
    ip netns add "$space"
    ending+=("ip netns delete $space")
    ip -n "$space" link set lo up
done
"$python" "$here/slowlink.py" 0.025 ht-fit "$A" ht-work "$B" &
link=$!
ending+=("kill -CONT $link; kill $link")
until_true 10 ip -n ht-work address show slow
for space in ht-fit ht-work; do
    ip netns exec "$space" tc qdisc add dev slow root tbf rate 20mbit burst 64k latency 500ms
    ip -n "$space" -brief address show slow
done

mkdir private shared
cp docstrings.* private
hiertopics convert private/docstrings.ldac shared/corpus.shards > /dev/null 2>&1
hiertopics convert private/docstrings.ldac private/corpus.shards > /dev/null 2>&1

in_fit() { ip netns exec ht-fit "$@"; }
# A worker. With 'apart' its folder 'private' is another one: an empty file system of its own.
worker() { # apart|beside
    local apart=""
    [ "$1" = apart ] && apart="mount -t tmpfs none $work/private;"
    ip netns exec ht-work unshare --mount sh -c "$apart exec dask worker tcp://$A:8786 \
        --host $B --nworkers 1 --nthreads 1 --no-dashboard --memory-limit 0" > worker.txt 2>&1 &
    crew+=($!)
}
begin_crew() {
    crew=()
    ip netns exec ht-fit dask scheduler --host "$A" --port 8786 --no-dashboard > scheduler.txt 2>&1 &
    crew+=($!)
    worker apart
    worker beside
    in_fit "$python" -c "from distributed import Client
Client('tcp://$A:8786', timeout=60).wait_for_workers(2)"
}
end_crew() {
    kill "${crew[@]}" 2> /dev/null || true
    wait "${crew[@]}" 2> /dev/null || true
}
ending+=("end_crew")

words() { # CORPUS BACKEND RUN: the command of a fit
    echo "hiertopics fit $1 -b $2 -s model.truncation=40 -s inference.shards=4" \
        "--iterations 30 -q -o $3"
}
cluster="--cluster tcp://$A:8786"
for backend in hdp-gibbs:partial hdp-cvb0 nhdp-variational; do
    $(words private/docstrings.ldac "$backend" "alone/$backend")
done

step "fits across the link; one worker does not see the folder of the corpus"
begin_crew
for backend in hdp-gibbs:partial hdp-cvb0 nhdp-variational; do
    began=$SECONDS
    in_fit $(words private/docstrings.ldac "$backend" "private/$backend") $cluster
    echo "$backend: $((SECONDS - began)) s"
    expect "$backend gave the same bytes" same_bytes "alone/$backend" "private/$backend"
done

step "a corpus in shards that one worker does not see, and a run"
refused() { # CORPUS RUN: the fit is refused in one line with exit code 2
    local code=0
    in_fit $(words "$1" hdp-gibbs:partial "$2") $cluster 2> said.txt || code=$?
    [ "$code" -eq 2 ] && one_line said.txt
}
expect "shards that a worker does not see are refused" refused private/corpus.shards shared/unseen
expect "a run that a worker does not see is refused" refused shared/corpus.shards private/unseen
in_fit $(words shared/corpus.shards hdp-gibbs:partial shared/run) $cluster
expect "shards and run in a folder that both see: the same bytes" \
    same_bytes alone/hdp-gibbs:partial shared/run

# stalled RUN SECONDS: the link stalls in the middle of a fit; its exit code is in 'code'.
stalled() {
    ip netns exec ht-fit $(words private/docstrings.ldac hdp-gibbs:partial "$1") \
        -s output.checkpoint_seconds=1 $cluster > said.txt 2>&1 &
    local fit=$!
    until_true 120 has_checkpoint "$1"
    kill -STOP "$link"
    sleep "$2"
    kill -CONT "$link"
    code=0
    wait "$fit" || code=$?
    echo "exit code $code"
    cat said.txt
    expect "no traceback" [ "$(grep -c Traceback said.txt)" -eq 0 ]
}

step "the link stalls for 20 seconds"
stalled private/short 20
expect "the fit ended by itself" [ "$code" -eq 0 ]
expect "it gave the same bytes" same_bytes alone/hdp-gibbs:partial private/short

step "the link stalls for 70 seconds: Dask gives workers up after 30"
stalled private/long 70
expect "the fit stopped (exit code 75) or ended (0)" [ "$code" -eq 75 -o "$code" -eq 0 ]
end_crew
begin_crew
in_fit $(words private/docstrings.ldac hdp-gibbs:partial private/long) $cluster
expect "the same command went on to the same bytes" same_bytes alone/hdp-gibbs:partial private/long

step "the same with a longer patience of Dask: distributed.comm.timeouts.tcp"
end_crew
export DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP=5m
begin_crew
stalled private/patient 70
expect "the fit ended by itself" [ "$code" -eq 0 ]
expect "it gave the same bytes" same_bytes alone/hdp-gibbs:partial private/patient

finish
