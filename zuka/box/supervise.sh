# supervise RUN: the one process that owns a run: claim it, do it, write down how it ended.
run=$1
trap '' HUP
here=$(pwd)
cd "runs/$run" || exit 1
put() { printf '%s\n' "$2" >".$1.$$" && mv -f ".$1.$$" "$1"; }
note() { printf '%s\n' "--- zuka: $1" >>log; }

# The claim is one symbolic link: made atomically, with its text. A dead owner's is taken over.
claim="$$:$(born $$):$(boot)"
again=
tries=0
until ln -s "$claim" owner 2>/dev/null; do
    tries=$((tries + 1))
    if [ "$tries" -gt 50 ] || (cd "$here" && alive "$run"); then exit 0; fi
    old=$(cd "$here" && claimant "$run")
    mv owner "owner.$$" 2>/dev/null || continue
    moved=$(readlink "owner.$$" 2>/dev/null || ls -l "owner.$$" | sed 's/^.* -> //')
    rm -f "owner.$$"
    if [ "$moved" != "$old" ]; then
        ln -s "$moved" owner # somebody was quicker
        exit 0
    fi
    again=yes
done

put began "$(date +%s)"
rm -f exit exit.old ended
command=$(cat command)
PATH=$(cat front)$PATH
PYTHONUNBUFFERED=1
export PATH PYTHONUNBUFFERED

# The newest file that matches the pattern; only a run that was begun before has one to go on from.
newest() {
    pattern=$(cat ../checkpoint)
    found=
    IFS=
    for file in $pattern; do
        if [ -f "$file" ] && { [ -z "$found" ] || [ "$file" -nt "$found" ]; }; then found=$file; fi
    done
    printf %s "$found"
}
checkpoint=
if [ -n "$again" ]; then
    checkpoint=$(cd work && newest)
    if [ -n "$checkpoint" ]; then
        command="$command $(cat resume)"
        note "goes on from $checkpoint"
    else
        note "begins again"
    fi
fi
export checkpoint

(cd work && exec sh -c "$command") </dev/null >>log 2>&1 &
child=$!
trap 'kill -TERM "$child" 2>/dev/null' TERM INT
(
    trap - TERM INT
    while kill -0 "$child" 2>/dev/null; do
        put heartbeat "$(date +%s)"
        sleep 2
    done
) </dev/null >/dev/null 2>&1 &
beat=$!
while :; do
    wait "$child"
    code=$?
    # A signal that was trapped ends the wait, not the child.
    kill -0 "$child" 2>/dev/null || break
done
kill "$beat" 2>/dev/null

makes=$(cat makes)
if [ "$code" = 0 ] && [ -n "$makes" ]; then
    (cd "$here" && write_stamp "$makes") || code=1
fi
put ended "$(date +%s)"
put exit "$code"
