#!/usr/bin/env bash
# Fits under SLURM: a job array, jobs that are stopped and queued again, two ways to a Dask cluster.
#
# Usage, as root on Debian: tests/nightly/cluster/slurm.sh PYTHON
# Needs: apt-get install slurm-wlm munge; PYTHON -m pip install dask-jobqueue.
# A controller and two nodes of its own, with a core each, run on this machine until the end.
# Takes ten to twenty minutes. Exit code: 0 no fault, 1 a fault.
source "$(dirname "$0")/common.sh"

step "SLURM begins: one controller, two nodes"
host=$(hostname -s)
mkdir -m 700 munge state
head -c 1024 /dev/urandom > munge/key
chmod 400 munge/key
cat > slurm.conf <<END
ClusterName=two
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmUser=root
AuthInfo=socket=$work/munge/socket
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool-%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd-%n.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=n[1-2] NodeHostname=$host NodeAddr=127.0.0.1 Port=[17001-17002] CPUs=1 RealMemory=8192
PartitionName=usual Nodes=ALL Default=YES PriorityTier=1 GraceTime=60
PartitionName=urgent Nodes=ALL PriorityTier=10 PreemptMode=OFF
END
export SLURM_CONF=$work/slurm.conf
munged --force --key-file="$work/munge/key" --socket="$work/munge/socket" \
    --pid-file="$work/munge/pid" --log-file="$work/munge/log" --seed-file="$work/munge/seed"
ending+=("kill \$(cat $work/munge/pid)")
slurmctld
ending+=("kill \$(cat $work/slurmctld.pid)")
for node in n1 n2; do
    slurmd -N "$node"
    ending+=("kill \$(cat $work/slurmd-$node.pid)")
done
ending+=("scancel --user root; sleep 5")
both_idle() { [ "$(sinfo -h -p usual -t idle -o %D)" = 2 ]; }
until_true 60 both_idle
sinfo -N -p usual

# The script of docs/batch.md, with another limit of time and another list of lines.
job_script() { # LIST LIMIT
    sed -n '/^cat > job.sh/,/^EOF/p' "$project/docs/batch.md" > made.sh
    sh made.sh
    sed -i "s/jobs.txt/$1/; s/3h50m/$2/" job.sh
}
fit() { # RUN ITERATIONS: the command of a fit
    echo "hiertopics fit docstrings.ldac -b hdp-cvb0 -s model.truncation=40" \
        "-s inference.shards=2 --iterations $2 -o $1"
}
state_of() { squeue -h -o %T -j "$1" 2> /dev/null || true; }
gone() { [ -z "$(state_of "$1")" ]; }
waiting() { [ "$(state_of "$1")" = PENDING ]; }
# A job that is queued again waits two minutes before it begins; this moves its time up.
hurried() { scontrol update "JobId=$1" StartTime=now > /dev/null 2>&1 || true; }
ended_soon() { # JOB
    hurried "$1"
    gone "$1"
}
stopped_by_signal() { grep -q "signal SIGTERM" "$1/log.txt"; }

step "a job array of the lines of sweep; each fit meets its time limit and goes on"
hiertopics config hdp-cvb0 > my.yaml
hiertopics sweep my.yaml docstrings.ldac --grid inference.iterations=800 \
    --grid model.truncation=40 --seeds 0:2 > jobs.txt
cat jobs.txt
job_script jobs.txt 8s
array=$(sbatch --parsable --array=1-"$(wc -l < jobs.txt)" job.sh)
until_true 400 ended_soon "$array" || squeue
grep -h "at iteration" runs/*/log.txt
sed 's/-o runs/-q -o alone/' jobs.txt | sh
for run in alone/*; do
    expect "the job of ${run#*/} gave the same bytes" same_bytes "$run" "runs/${run#*/}"
done

step "a job that gives way to an urgent one"
$(fit alone/long 1200) -q
fit runs/preempted 1200 > one.txt
job_script one.txt 3h
job=$(sbatch --parsable --array=1 job.sh)_1
until_true 120 test -e runs/preempted/metrics.jsonl
sleep 3
sbatch -p urgent -N 2 --exclusive -o urgent.txt --wrap "sleep 5"
until_true 90 waiting "$job"
expect "the job stopped by itself, with a checkpoint" stopped_by_signal runs/preempted
until_true 400 ended_soon "$job" || squeue
grep -E "signal|done at" runs/preempted/log.txt
expect "it went on to the same bytes" same_bytes alone/long runs/preempted

step "a job that somebody queues again (scontrol requeue)"
fit runs/requeued 1200 > one.txt
job=$(sbatch --parsable --array=1 job.sh)_1
until_true 120 test -e runs/requeued/metrics.jsonl
sleep 3
scontrol requeue "$job"
until_true 90 waiting "$job"
until_true 400 ended_soon "$job" || squeue
grep -E "signal|continu|done at" runs/requeued/log.txt
expect "it went on to the same bytes" same_bytes alone/long runs/requeued

step "two nodes in one job: dask scheduler, srun dask worker, fit"
tree() { # RUN: the command of a fit of a tree
    echo "hiertopics fit docstrings.ldac -s model.truncation=40 -s inference.shards=4" \
        "-s output.checkpoint_seconds=1 --iterations 40 -q -o $1"
}
$(tree alone/tree)
cat > two.sh <<END
#!/bin/sh
#SBATCH --nodes=2 --ntasks-per-node=1 --output=two.txt
file=$work/scheduler-\$SLURM_JOB_ID.json
dask scheduler --scheduler-file \$file &
srun dask worker --scheduler-file \$file --nworkers 1 --nthreads 1 &
$python -c "from distributed import Client; Client(scheduler_file='\$file').wait_for_workers(2)"
$(tree runs/srun) --cluster scheduler-file:\$file
END
sbatch --wait two.sh || true
cat two.txt
expect "the fit on two nodes gave the same bytes" same_bytes alone/tree runs/srun

step "a cluster of dask-jobqueue on both nodes"
cat > jobqueue.py <<'END'
import os
import time

from dask_jobqueue import SLURMCluster

cluster = SLURMCluster(
    cores=1, processes=1, memory="2GB", walltime="1:00:00", scheduler_options={"host": "127.0.0.1"}
)
cluster.scale(jobs=2)
cluster.wait_for_workers(2)
with open("address.new", "w") as file:
    file.write(cluster.scheduler_address)
os.replace("address.new", "address")
time.sleep(3600)
END
"$python" jobqueue.py > jobqueue.txt 2>&1 &
ending+=("kill $! 2> /dev/null")
until_true 120 test -e address
squeue -o "%i %j %T %N"
$(tree runs/jobqueue) --cluster "$(cat address)"
expect "the fit on the jobs of dask-jobqueue gave the same bytes" same_bytes alone/tree runs/jobqueue

step "one of its two jobs is cancelled during a fit"
$(tree runs/cancelled) --cluster "$(cat address)" &
until_true 120 has_checkpoint runs/cancelled
scancel "$(squeue -h -o %i | head -n 1)"
wait $!
expect "the fit ended by itself in the same bytes" same_bytes alone/tree runs/cancelled
grep -i worker runs/cancelled/log.txt || true

finish
