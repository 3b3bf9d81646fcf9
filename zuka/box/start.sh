# start.sh SUPERVISE RUN COMMAND RESUME CHECKPOINT CODE MAKES AGAIN NPATH PATH... [NAME PLACE]...
# Start a run on its own, once; a live one is left alone, and so is one that ended well.
supervise=$1 run=$2 command=$3 resume=$4 checkpoint=$5 code=$6 makes=$7 again=$8 count=$9
shift 9
case "$(state "$run")" in
running) exit 0 ;;
finished) [ -n "$again" ] || exit 0 ;;
esac

here=$(pwd)
front=
while [ "$count" -gt 0 ]; do
    front="$front$here/$1:"
    shift
    count=$((count - 1))
done

# A name that the work folder lacks becomes a link; where the code has such a folder, its inside.
place_link() {
    if [ -d "$2" ] && [ ! -L "$2" ] && [ -d "$1" ]; then
        for inside in "$1"/* "$1"/.[!.]*; do
            if [ -e "$inside" ]; then place_link "$inside" "$2/${inside##*/}" || return 1; fi
        done
    elif [ ! -e "$2" ] && [ ! -L "$2" ]; then
        mkdir -p "${2%/*}" && ln -s "$1" "$2"
    fi
}

mkdir -p "runs/$run" tmp || exit 1
if [ ! -d "runs/$run/work" ]; then
    half=tmp/work.$run.$$
    mkdir -p "$half" || exit 1
    if [ -n "$code" ]; then cp -R "./$code/." "$half" || exit 1; fi
    while [ $# -ge 2 ]; do
        case "$2" in /*) place=$2 ;; *) place=$here/$2 ;; esac
        place_link "$place" "$half/$1" || exit 1
        shift 2
    done
    if [ ! -d "runs/$run/work" ]; then mv "./$half" "runs/$run/work" || exit 1; fi
    # Where two starts met, the second one's folder went inside the first one's.
    rm -rf "./runs/$run/work/${half##*/}" "./$half"
fi

put() { printf '%s\n' "$2" >"runs/$run/.$1.$$" && mv -f "runs/$run/.$1.$$" "runs/$run/$1"; }
put command "$command" && put resume "$resume" && put checkpoint "$checkpoint" &&
    put makes "$makes" && put front "$front" && put supervise "$supervise" || exit 1
if [ -f "runs/$run/exit" ]; then mv -f "runs/$run/exit" "runs/$run/exit.old"; fi

# What lives on when this connection ends: a tmux session on a socket of ours, else a process.
session=zuka-$run
tries=0
until tmux -L zuka -f /dev/null new-session -d -s "$session" -c "$here" \
    "exec sh runs/$run/supervise $run" </dev/null >/dev/null 2>&1; do
    # The session of the attempt before may take a moment to end.
    if ! tmux -L zuka has-session -t "=$session" 2>/dev/null || [ "$tries" -ge 50 ]; then
        setsid=$(command -v setsid || command -v nohup)
        $setsid sh "runs/$run/supervise" "$run" </dev/null >/dev/null 2>&1 &
        break
    fi
    if alive "$run"; then exit 0; fi
    tries=$((tries + 1))
    sleep 0.2 2>/dev/null || sleep 1
done

tries=0
until alive "$run" || [ -f "runs/$run/exit" ]; do
    tries=$((tries + 1))
    if [ "$tries" -ge 100 ]; then
        echo "the run did not start: see runs/$run/log" >&2
        exit 1
    fi
    sleep 0.1 2>/dev/null || sleep 1
done
