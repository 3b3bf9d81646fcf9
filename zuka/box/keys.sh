# keys.sh KEY: does a key open the account, and who else can read or write what says so?
if opens "$1"; then echo there; else echo no; fi
for path in "$HOME/.ssh" "$HOME/.ssh/authorized_keys"; do
    if [ -e "$path" ]; then ls -ld "$path" | cut -c 5-10; fi
done
