#!/usr/bin/env bash
# A cluster that loses its scheduler, and workers that have too little memory.
#
# Usage, as root on Linux: tests/nightly/cluster/faults.sh PYTHON
# Needs: memory control groups (version 1 or 2), room for a swap file of 1 GB beside it.
# Takes about ten minutes. Exit code: 0 no fault, 1 a fault.
source "$(dirname "$0")/common.sh"
where=tcp://127.0.0.1:8787

scheduler() {
    dask scheduler --host 127.0.0.1 --port 8787 --no-dashboard > scheduler.txt 2>&1 &
    crew+=($!)
}
workers() { # OPTIONS: two workers, each below a nanny that starts another one when it dies
    dask worker "$where" --nworkers 2 --nthreads 1 --no-dashboard "$@" > workers.txt 2>&1 &
    crew+=($!)
}
two_workers_there() {
    "$python" -c "from distributed import Client
Client('$where', timeout=60).wait_for_workers(2, timeout=120)"
}
end_crew() {
    kill "${crew[@]}" 2> /dev/null || true
    wait "${crew[@]}" 2> /dev/null || true
    crew=()
}
crew=()
ending+=("end_crew")

words() { # RUN: the command of a fit
    echo "hiertopics fit docstrings.ldac -b hdp-cvb0 -s model.truncation=100" \
        "-s inference.shards=4 -s output.checkpoint_seconds=1 --iterations 150 -q -o $1"
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
