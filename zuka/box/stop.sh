# stop.sh RUN: end a run that we started, and what it started; nothing else has its claim.
if alive "$1"; then
    # The supervisor leads its own group, but where neither tmux nor setsid was there.
    kill -TERM "-$pid" 2>/dev/null || kill -TERM "$pid"
    tries=0
    while alive "$1" && [ "$tries" -lt 50 ]; do
        tries=$((tries + 1))
        sleep 0.1 2>/dev/null || sleep 1
    done
    if alive "$1"; then kill -KILL "-$pid" 2>/dev/null || kill -KILL "$pid"; fi
fi
