# follow.sh RUN OFFSET MARK: the log from a byte on, as it grows; when the run ended, its state.
run=$1 offset=$2 mark=$3
log=runs/$run/log
nap=0.2
sleep 0.01 2>/dev/null || nap=1
turn=0
now=running
while :; do
    # The end is looked at before the log: what was written before the end is then all there.
    if [ -f "runs/$run/exit" ]; then
        now=$(state "$run")
    elif [ $((turn % 10)) = 0 ]; then
        now=$(state "$run")
    fi
    turn=$((turn + 1))
    size=$(wc -c <"$log" 2>/dev/null) || size=0
    size=$((size))
    if [ "$size" -gt "$offset" ]; then
        tail -c +$((offset + 1)) "$log" | head -c $((size - offset))
        offset=$size
    elif [ "$now" != running ]; then
        break
    else
        sleep $nap
    fi
done
printf '\n%s %s\n' "$mark" "$now"
