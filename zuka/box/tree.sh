# tree.sh PATH: is a folder as it was when it was made whole?
if [ ! -d "./$1" ] || [ ! -f "$(stamp "$1")" ]; then
    echo absent
elif [ "$(listing "$1")" = "$(cat "$(stamp "$1")")" ]; then
    echo whole
else
    echo changed
fi
