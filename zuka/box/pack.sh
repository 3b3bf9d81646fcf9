# pack.sh RUN PATH...: a tar of a run's results: first a list with every file's digest, then they.
run=$1
shift
cd "runs/$run" || exit 1
list=.list.$$
trap 'rm -f "./$list"' EXIT
trap 'exit 1' HUP INT TERM PIPE
for path in "$@"; do
    if [ ! -e "./work/$path" ]; then
        echo "the run left no '$path'" >&2
        exit 1
    fi
    set -- "$@" "./work/$path"
    shift
done
touch log
if command -v sha256sum >/dev/null 2>&1; then
    find ./log "$@" -type f -exec sha256sum {} + >"$list" || exit 1
else
    find ./log "$@" -type f -exec shasum -a 256 {} + >"$list" || exit 1
fi
tar -cf - "./$list" ./log "$@"
