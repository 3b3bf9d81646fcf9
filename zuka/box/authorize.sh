# authorize.sh KEY LINE: let a key in, by adding its line properly; what else stands there stays.
key=$1 line=$2
umask 077
mkdir -p "$HOME/.ssh" && chmod 700 "$HOME/.ssh" || exit 1
file=$HOME/.ssh/authorized_keys
if ! opens "$key"; then
    if [ -s "$file" ] && [ -n "$(tail -c 1 "$file")" ]; then echo >>"$file" || exit 1; fi
    printf '%s\n' "$line" >>"$file" || exit 1
fi
chmod 600 "$file" || exit 1
# sshd trusts no key in a home folder that others can write to.
case "$(ls -ld "$HOME")" in ?????w*|????????w*) chmod go-w "$HOME" ;; esac
tr -d '\r' <"$file" | awk '
    /^[ \t]*(#|$)/ { next }
    !/(^|[ \t,"])(ssh-(rsa|dss|ed25519)|ecdsa-sha2-[a-z0-9-]+|sk-[a-z0-9@.-]+) +AAAA/ {
        print "note: line " NR " of ~/.ssh/authorized_keys is no key; it is left alone"
        next
    }
    gsub(/(ssh|ecdsa|sk)-[^ ]+ +AAAA/, "") > 1 {
        print "note: line " NR " of ~/.ssh/authorized_keys holds several keys: the first alone counts"
    }'
