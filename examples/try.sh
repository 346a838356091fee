#!/usr/bin/env bash
# Install the example package, use it, kill a fit and go on with it, and remove the package.
#
# Usage: examples/try.sh PYTHON. PYTHON is the interpreter of an environment that has hiertopics.
# All files are made in a temporary folder.
set -euo pipefail
python=$1
examples=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
hiertopics() { "$python" -m hiertopics "$@"; }
same() { for name in model.npz theta.npz tree.json; do cmp "$1/$name" "$2/$name"; done; }

cp -r "$examples/hiertopics-unigrams" "$work/package"
"$python" -m pip install --quiet --no-deps "$work/package"
cd "$work"

echo "== listed"
hiertopics backends | grep 'package hiertopics-unigrams'
hiertopics config unigrams-em > mixture.yaml

echo "== simulated, converted, checked"
hiertopics simulate unigrams-em -o drawn.ldac --docs 200 --words 300 -s model.n_topics=5
hiertopics convert drawn.ldac drawn.words > converted.txt
cp drawn.words drawn.txt
hiertopics check drawn.txt --from words
hiertopics convert drawn.ldac packed.words.gz
hiertopics check packed.words.gz
{ hiertopics check drawn.txt --from nothing 2>&1 || true; } | grep ' words'
awk '{ print (NR % 2 ? "odd" : "even") }' drawn.words > drawn.labels

echo "== fitted and scored"
settings=(-s model.n_topics=5 -s output.checkpoint_seconds=0)
hiertopics fit drawn.words -b unigrams-em -o whole -q --iterations 40 "${settings[@]}"
hiertopics eval whole --heldout
hiertopics eval whole --task clusters -s least=2
{ hiertopics eval whole --task nothing 2>&1 || true; } | grep ' clusters'
hiertopics show-tree whole --words 4
hiertopics report whole

echo "== killed and resumed"
"$python" -m hiertopics fit drawn.words -b unigrams-em -o killed -q --iterations 1000000 \
    "${settings[@]}" &
fit=$!
while [ "$(find killed/checkpoints -name '*.npz' 2> /dev/null | wc -l)" -lt 2 ]; do sleep 0.05; done
kill -9 "$fit"
wait "$fit" || true
reached=$(find killed/checkpoints -name '*.npz' -exec basename {} .npz \; | sort -n | tail -n 1)
reached=$((10#$reached + 5))
hiertopics fit drawn.words -b unigrams-em -o killed -q --iterations "$reached" "${settings[@]}"
hiertopics fit drawn.words -b unigrams-em -o again -q --iterations "$reached" "${settings[@]}"
same killed again

echo "== removed"
"$python" -m pip uninstall --quiet --yes hiertopics-unigrams
hiertopics show-tree whole --words 4 > tree.txt
if hiertopics eval whole --heldout 2> said.txt; then exit 1; fi
grep 'install hiertopics-unigrams' said.txt
echo "all steps passed"
