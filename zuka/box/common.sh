# Functions that all scripts share. POSIX sh; the working folder is zuka's own on the box.
LC_ALL=C
export LC_ALL

# The moment at which a process was born, so that a pid that was given again is not taken for it.
born() {
    if [ -r "/proc/$1/stat" ]; then
        # The name of the program may hold anything; what counts stands after its last bracket.
        set -- "$(sed 's/^.*) //' "/proc/$1/stat" 2>/dev/null | tr '\n' ' ')"
        case "$1" in Z*|X*|'') return 1 ;; esac
        printf %s "$1" | cut -d ' ' -f 20
    else
        set -- "$(ps -o stat= -o lstart= -p "$1" 2>/dev/null)"
        case "$1" in Z*|'') return 1 ;; esac
        printf %s "$1" | cut -d ' ' -f 2- | tr -d ' :'
    fi
}

boot() {
    if [ -r /proc/sys/kernel/random/boot_id ]; then
        cat /proc/sys/kernel/random/boot_id
    else
        sysctl -n kern.boottime 2>/dev/null | tr -cd '0-9'
    fi
}

# Who claims a run: "pid:born:boot", the text of a symbolic link, which is made atomically.
claimant() {
    readlink "runs/$1/owner" 2>/dev/null || ls -l "runs/$1/owner" 2>/dev/null | sed 's/^.* -> //'
}

alive() {
    claim=$(claimant "$1")
    case "$claim" in *:*:*) ;; *) return 1 ;; esac
    pid=${claim%%:*}
    rest=${claim#*:}
    [ "${rest#*:}" = "$(boot)" ] && [ "${rest%%:*}" = "$(born "$pid")" ]
}

# absent, running, finished, failed N, lost
state() {
    if [ -f "runs/$1/exit" ]; then
        code=$(cat "runs/$1/exit")
        if [ "$code" = 0 ]; then echo finished; else echo "failed $code"; fi
    elif alive "$1"; then
        echo running
    elif [ -L "runs/$1/owner" ]; then
        # It may have ended between the two questions.
        if [ -f "runs/$1/exit" ]; then state "$1"; else echo lost; fi
    else
        echo absent
    fi
}

checksum() {
    if command -v cksum >/dev/null 2>&1; then cksum; else md5sum; fi
}

# One line that changes when anything under a folder does: kinds, modes, sizes, names, links.
# Times are left out, since a copy changes them, and what Python writes beside its sources.
listing() {
    (
        cd "./$1" 2>/dev/null || exit 1
        find . -name __pycache__ -prune -o ! -name '*.pyc' ! -name . -exec ls -dln {} + 2>/dev/null |
            awk '{ if (substr($1, 1, 1) != "-") $5 = 0; $2 = $3 = $4 = $6 = $7 = $8 = ""
                   $1 = substr($1, 1, 10); print }' |
            sort | checksum
    )
}

# The stamp of a folder: the listing that it had when it was made whole.
stamp() {
    printf 'stamps/%s' "$(printf %s "$1" | tr / _)"
}

write_stamp() {
    mkdir -p stamps
    listing "$1" >"$(stamp "$1").$$" && mv -f "$(stamp "$1").$$" "$(stamp "$1")"
}

# Does a key open the account? One that is glued to another's comment, or stands behind it, does not.
opens() {
    [ -f "$HOME/.ssh/authorized_keys" ] && tr -d '\r' <"$HOME/.ssh/authorized_keys" |
        awk -v key="$1" '
            /^[ \t]*#/ { next }
            { at = index($0, key); before = substr($0, 1, at - 1) }
            at && before ~ /^$|[ \t]$/ && before !~ /(ssh|ecdsa|sk)-[^ ]+ +AAAA/ { found = 1 }
            END { exit !found }'
}
