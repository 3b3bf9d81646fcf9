# unpack.sh TARGET COUNT SIZE: a gzipped tar from the standard input becomes a folder, whole or not.
target=$1 count=$2 size=$3
umask 077
half=tmp/push.$$.$(date +%s)
mkdir -p tmp stamps "$half" || exit 1
trap 'rm -rf "./$half"' EXIT
trap 'exit 1' HUP INT TERM PIPE
tar -xzf - -C "$half" || exit 1
got=$(find "$half" -type f -exec sh -c 'echo $#' count {} + | awk '{ n += $1 } END { print n + 0 }')
bytes=$(find "$half" -type f -exec ls -ln {} + |
    awk 'substr($1, 1, 1) == "-" { n += $5 } END { printf "%.0f", n }')
if [ "$got" != "$count" ] || [ "$bytes" != "$size" ]; then
    echo "$got files of $bytes bytes arrived, not $count of $size" >&2
    exit 1
fi
if [ -d "./$target" ] && [ "$(listing "$target")" != "$(listing "$half")" ]; then
    # Somebody damaged the one that is there; what was made whole is never changed in place.
    mv "./$target" "tmp/damaged.$$" && rm -rf "./tmp/damaged.$$"
fi
listing "$half" >"$(stamp "$target").$$" && mv -f "$(stamp "$target").$$" "$(stamp "$target")" || exit 1
case "$target" in */*) mkdir -p "./${target%/*}" || exit 1 ;; esac
if [ ! -d "./$target" ]; then mv "./$half" "./$target" || exit 1; fi
# Where two copies met, the second one's folder went inside the first one's.
rm -rf "./$target/${half##*/}"
