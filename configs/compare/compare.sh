#!/bin/sh
# Fit every text backend and baseline to CORPUS on one split, with its defaults, and print one table;
# samplers predict by the mean of their kept draws.
#
#   sh configs/compare/compare.sh CORPUS [OPTIONS OF hiertopics sweep]
#
# BACKENDS=a,b in the environment selects these backends. A fit that fails does not stop the others;
# it is named after the table. The same command, given again, makes only the missing fits.
: "${BACKENDS:=nhdp-variational,nhdp-gibbs,hlda-variational,hlda-gibbs,tssb-mcmc,chdp-gibbs,chdp-variational,hdp-pcvb0,hdp-pcvb,hdp-cvb0,hdp-cvb,hdp-gibbs,lda-gibbs,multinomial}"
jobs=$(hiertopics sweep "$(dirname "$0")/text.yaml" "$@" --grid "backend=$BACKENDS") || exit
printf '%s\n' "$jobs" | sed 's/$/ -q/' | sh >&2
printf '%s\n' "$jobs" | sed 's/.* -o //' | xargs hiertopics compare --average || exit 1
