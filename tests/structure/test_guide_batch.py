"""The job script of docs/batch.md does what the page says, with stubs for SLURM and for the fit."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from guide import ROOT, fences

STUB = '#!/bin/sh\necho "$0 $*" >> calls\nexit ${FIT_CODE:-0}\n'
STEP = '#!/bin/sh\n[ "$1" = --cpus-per-task=1 ] && shift && exec "$@"\n'


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """Return a folder with the script, two jobs, and stubs of hiertopics, scontrol and srun."""
    text = (ROOT / "docs" / "batch.md").read_text(encoding="utf-8")
    (script,) = [body for body in fences(text, "bash") if "job.sh" in body]
    subprocess.run(["bash", "-c", script], cwd=tmp_path, check=True)
    (tmp_path / "jobs.txt").write_text("./hiertopics fit a -o 'x y'\n./hiertopics fit b -o z\n")
    for name, stub in {"hiertopics": STUB, "scontrol": STUB, "srun": STEP}.items():
        (tmp_path / name).write_text(stub)
        (tmp_path / name).chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("code", [0, 2, 75])
def test_a_stopped_fit_is_put_back_into_the_queue_and_no_other(job: Path, code: int) -> None:
    variables = {"SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_JOB_ID": "71", "FIT_CODE": str(code)}
    variables["SLURM_CPUS_PER_TASK"] = "1"
    variables["PATH"] = f"{job}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["sh", "job.sh"], cwd=job, env={**os.environ, **variables})
    assert done.returncode == code
    calls = (job / "calls").read_text().splitlines()
    assert calls[0] == "./hiertopics fit b -o z -q --time-limit 3h50m"
    assert [call.split("/")[-1] for call in calls[1:]] == ["scontrol requeue 71_2"] * (code == 75)
