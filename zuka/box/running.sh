# running.sh: the runs that are alive, on one line.
for path in runs/*/owner; do
    run=${path#runs/}
    run=${run%/owner}
    if [ "$(state "$run")" = running ]; then printf '%s ' "$run"; fi
done
