# checkup.sh SECONDS PLATFORM URL...: everything about a box at once, each part within its time.
limit=$1 platform=$2
shift 2
PATH=$PATH:/usr/sbin:/sbin

room=
for place in /dev/shm "${TMPDIR:-/tmp}" /tmp "$HOME" .; do
    room=$place/zuka.$$.$(date +%s)
    (umask 077; mkdir "$room" && : >"$room/ok") 2>/dev/null && break
    room=
done
if [ -z "$room" ]; then
    echo "== room 1"
    df -Pk "$HOME" / 2>/dev/null | sed 's/^/| /'
    exit 0
fi
sleep "$limit" </dev/null >/dev/null 2>&1 &
timer=$!
trap 'kill "$timer" 2>/dev/null; rm -rf "$room"' EXIT
trap 'exit 1' HUP INT TERM PIPE

# part NAME COMMAND...: do it beside the others; when its code is there, it is over.
parts=
part() {
    out=$room/$1
    parts="$parts $1"
    shift
    (
        "$@" >"$out" 2>&1
        echo $? >"$out.code"
    ) </dev/null >/dev/null 2>&1 &
    echo $! >"$out.pid"
}

# own COMMAND...: what may hang takes its children along; a group of their own is ended with it.
own() {
    if command -v setsid >/dev/null 2>&1; then setsid "$@" & else "$@" & fi
    echo $! >"$out.group"
    wait $!
}

# What a box that was killed in a checkup left: ours by its name, its owner and its age.
tidy() {
    own find /dev/shm "${TMPDIR:-/tmp}" -maxdepth 1 -type d -name 'zuka.[0-9]*.[0-9]*' \
        -user "$(id -u)" -mmin +10 -exec rm -rf -- {} + 2>/dev/null
}

# Seconds since the box was started; many where it does not tell.
age() { cut -d . -f 1 "${ZUKA_UPTIME:-/proc/uptime}" 2>/dev/null || echo 9999; }

# The PATH of a command is shorter than a login's, so that is asked last; it may hang as well.
find_smi() {
    for place in "$(command -v nvidia-smi 2>/dev/null)" /usr/bin/nvidia-smi \
        /usr/lib/wsl/lib/nvidia-smi /usr/local/nvidia/bin/nvidia-smi /opt/bin/nvidia-smi; do
        if [ -x "$place" ]; then echo "$place" && return; fi
    done
    own "${SHELL:-sh}" -lc 'command -v nvidia-smi' 2>/dev/null | sed -n '/^\/.*nvidia-smi$/p' | tail -n 1
}

gpu() {
    found=$(find_smi)
    if [ -z "$found" ]; then
        for other in rocm-smi amd-smi npu-smi mthreads-gmi mx-smi ixsmi hy-smi cnmon xpu-smi efsmi; do
            if command -v "$other" >/dev/null 2>&1; then echo "$other is there, nvidia-smi is not"; fi
        done
        echo "sh: nvidia-smi: command not found"
        return 127
    fi
    own "$found"
    code=$?
    # Some images build the driver at their first boot: a box that is that young gets a moment.
    tries=0
    while [ "$code" != 0 ] && [ "$tries" -lt 3 ] && [ "$(age)" -lt 300 ] &&
        grep -q 'communicate with the NVIDIA driver' "$room/gpu"; do
        sleep 3
        tries=$((tries + 1))
        own "$found"
        code=$?
    done
    [ "$code" = 0 ] || return "$code"
    if grep -q 'MIG devices' "$room/gpu"; then own "$found" -L; fi
    own "$found" --query-gpu=index,uuid,name,memory.total,memory.used --format=csv || return
    # Cards that are linked by switches need their fabric manager.
    if [ -e /dev/nvidia-nvswitchctl ]; then
        own "$found" -q | sed -n '/NVSMI LOG/p;/^GPU /p;/^    Fabric$/,/Status/p'
    fi
}

disk() {
    own df -PkT 2>/dev/null || own df -Pk
}

# The folders themselves: a bind mount of one file must not be taken for a disk, and a network disk
# that is dead keeps nobody from asking for the others.
folders() { own df -Pk / "$HOME" . 2>/dev/null; }

first() { for path; do [ -r "$path" ] && head -n 1 "$path" && return; done; }

limits() {
    echo "home $HOME"
    ours=$HOME/.zuka
    [ -d "$ours" ] || ours=$HOME
    [ -w "$ours" ] || echo "shut $ours"
    echo "cpus $(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null)"
    echo "cpu.max $(first /sys/fs/cgroup/cpu.max)"
    echo "cpu.quota $(first /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us)"
    echo "cpu.period $(first /sys/fs/cgroup/cpu/cpu.cfs_period_us /sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us)"
    echo "memory.max $(first /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes)"
    echo "memory.used $(first /sys/fs/cgroup/memory.current /sys/fs/cgroup/memory/memory.usage_in_bytes)"
    sed -n 's/^\(MemTotal\|MemAvailable\): */\1 /p' /proc/meminfo 2>/dev/null
    own df -Pk /dev/shm 2>/dev/null | awk 'NR > 1 && $NF == "/dev/shm" { print "shm " $2 " " $4 }'
}

pythons() {
    for name in python3 python python3.13 python3.12 python3.11 python3.10; do
        place=$(command -v "$name" 2>/dev/null) || continue
        own "$place" -c 'import sys; print(sys.executable, "%d.%d.%d" % sys.version_info[:3])'
    done
}

tools() {
    for name in tmux setsid timeout rsync zstd git sudo systemctl curl wget tar gzip shutdown; do
        if command -v "$name" >/dev/null 2>&1; then printf '%s ' "$name"; fi
    done
    if command -v sudo >/dev/null 2>&1 && own sudo -n true 2>/dev/null; then printf 'sudo-n '; fi
    echo
}

who() {
    id -un
    uname -srm
    hostname 2>/dev/null || cat /proc/sys/kernel/hostname
}

# reach URL: the code of the answer, or what went wrong; any answer is one.
reach() {
    if command -v curl >/dev/null 2>&1; then
        own curl -sS -o /dev/null -m 8 -w '%{http_code}\n' "$1"
    elif command -v wget >/dev/null 2>&1; then
        own wget -q -T 8 -t 1 -O /dev/null "$1" && echo 200
    elif command -v python3 >/dev/null 2>&1; then
        own python3 -c 'import sys, urllib.request as r; print(r.urlopen(sys.argv[1], timeout=8).status)' "$1"
    else
        echo "neither curl nor wget nor python3"
        return 127
    fi
}

part gpu gpu
part disk disk
part folders folders
part inodes own df -Pi
part limits limits
part pythons pythons
part tools tools
part who who
part platform own sh -c "$platform"
part tidy tidy
number=0
for url; do
    number=$((number + 1))
    part "reach$number" reach "$url"
done

for name in $parts; do
    while [ ! -f "$room/$name.code" ] && kill -0 "$timer" 2>/dev/null; do
        sleep 0.05 2>/dev/null || sleep 1
    done
    if [ ! -f "$room/$name.code" ]; then
        kill -9 "$(cat "$room/$name.pid")" 2>/dev/null
        group=$(cat "$room/$name.group" 2>/dev/null)
        kill -9 -- "-$group" 2>/dev/null || kill -9 "$group" 2>/dev/null
        echo 124 >"$room/$name.code"
    fi
    echo "== $name $(cat "$room/$name.code")"
    head -c 60000 "$room/$name" | sed 's/^/| /'
    echo
done
echo "== clock 0"
echo "| $(date +%s)"
