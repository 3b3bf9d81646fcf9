# Run "$1", shell text, with the variables "$2" and on; an SSH session may lack those of the box.
zuka_root=${ZUKA_PROBE_ROOT:-}
zuka_command=$1
shift
for zuka_name; do
    eval "zuka_value=\${$zuka_name:-}"
    if [ -z "$zuka_value" ] && [ -r "$zuka_root/proc/1/environ" ]; then
        zuka_value=$(tr '\012\000' ' \012' <"$zuka_root/proc/1/environ" |
            sed -n "s/^$zuka_name=//p" | sed -n 1p)
    fi
    if [ -z "$zuka_value" ] && [ -r "$zuka_root/etc/rp_environment" ]; then
        zuka_value=$(sed 's/^ *export *//; s/=["'\'']/=/; s/["'\''] *$//' \
            "$zuka_root/etc/rp_environment" | sed -n "s/^$zuka_name=//p" | sed -n 1p)
    fi
    if [ -n "$zuka_value" ]; then
        export "$zuka_name=$zuka_value"
    fi
done
eval "$zuka_command"
