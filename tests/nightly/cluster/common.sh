# Functions of the scripts of this folder. These are called with PYTHON, the interpreter of an
# environment that has hiertopics[cluster], as root. All files are in a temporary folder.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
project=$(cd "$here/../../.." && pwd)
python=$(realpath -s "${1:?usage: $0 PYTHON}")
if [ "$(id -u)" -ne 0 ]; then
    echo "run this as root" >&2
    exit 2
fi
unset PYTHONDONTWRITEBYTECODE # kernels are kept
faults=0
work=$(mktemp -d)
chmod 755 "$work"
cd "$work"
cp "$project"/data-samples/docstrings.* .

# The programs of PYTHON under their names, for job scripts and printed commands.
mkdir bin
for name in hiertopics dask; do
    printf '#!/bin/sh\nexec "%s" -m %s "$@"\n' "$python" "$name" > "bin/$name"
done
chmod +x bin/*
export PATH="$work/bin:$PATH" DASK_LOGGING__DISTRIBUTED=error PYTHONUNBUFFERED=1

ending=() # commands that run at the end, the last one first
ended() {
    code=$?
    set +e
    for ((i = ${#ending[@]} - 1; i >= 0; i--)); do eval "${ending[i]}"; done
    cd /
    if [ -n "${KEEP:-}" ]; then echo "kept: $work"; else rm -rf "$work"; fi
    if [ "$code" -ne 0 ]; then echo "stopped with exit code $code"; fi
    exit "$code"
}
trap ended EXIT

step() { printf '\n== %s\n' "$*"; }

# expect WHAT COMMAND...: say whether the command succeeds; count it as a fault if not.
expect() {
    local what=$1
    shift
    if "$@"; then
        echo "ok: $what"
    else
        echo "FAULT: $what"
        faults=$((faults + 1))
    fi
}

# until_true SECONDS COMMAND...: wait until the command succeeds.
until_true() {
    local end=$((SECONDS + $1))
    shift
    until "$@" > /dev/null 2>&1; do
        if [ "$SECONDS" -ge "$end" ]; then
            echo "waited in vain for: $*" >&2
            return 1
        fi
        sleep 0.2
    done
}

same_bytes() { # RUN RUN
    local name
    for name in model.npz theta.npz tree.json topics.csv; do
        cmp "$1/$name" "$2/$name" || return 1
    done
}

checkpoints_of() { find "$1/checkpoints" -name '*.npz' 2> /dev/null | sort; }

has_checkpoint() { [ -n "$(checkpoints_of "$1")" ]; }

one_line() { # FILE: there is one line, and no traceback
    cat "$1"
    [ "$(wc -l < "$1")" -eq 1 ]
}

finish() {
    step "$faults faults"
    [ "$faults" -eq 0 ]
}
