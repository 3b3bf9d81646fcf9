# state.sh RUN: the state of a run, then when it began and ended (seconds since 1970).
state "$1"
echo "$(cat "runs/$1/began" 2>/dev/null) $(cat "runs/$1/ended" 2>/dev/null)"
