# off.sh [ARGV...]: tell this box to go, in a moment, so that this very connection can still hear it.
PATH=$PATH:/usr/sbin:/sbin # sshd gives none of them to a user who is not root
if [ $# = 0 ]; then
    if command -v shutdown >/dev/null 2>&1; then set -- shutdown -h now
    elif command -v poweroff >/dev/null 2>&1; then set -- poweroff
    else
        echo "this box has neither shutdown nor poweroff: give poweroff a 'command'"
        exit 1
    fi
    if [ "$(id -u)" != 0 ] && command -v sudo >/dev/null 2>&1; then set -- sudo -n "$@"; fi
fi
(sleep 1; exec "$@") </dev/null >poweroff.log 2>&1 &
