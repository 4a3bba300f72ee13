#!/bin/sh
# The pictures of the guide to serving: two are made here, and those in docs/pictures are what ./dev pictures makes: every screen in
# both looks, none of more than 100 kB, and each in the guide.
. "$here/lib.sh"
root=$(cd "$here/../.." && pwd)
for name in runs run steps travel machine inbox programs compare schedules overview; do
    for look in light dark; do echo "$name-$look.png"; done
done | sort >wanted
ls "$root/docs/pictures" >there
check "every screen has its pictures" cmp wanted there
check "none has more than 100 kB" test -z "$(find "$root/docs/pictures" -size +100k)"
check "each is in the guide" sh -c 'while read -r name; do grep -q "pictures/$name" "$1/docs/serving.md" || { echo "$name"; exit 1; }; done <wanted' sh "$root"
if [ ! -d "$root/build/npm/node_modules/playwright-core" ] || ! command -v chromium >/dev/null; then
    echo "skipped: the browser, which './dev test' installs"
    exit 0
fi
timeout 120 sh "$here/page/pictures.sh" "$(dirname "$(command -v tfy)")" made runs,machine >said 2>&1
check "pictures are made" sh -c '[ "$(grep -c "^ok" said)" = 4 ] || { cat said; exit 1; }'
check "... of those that were named" test "$(ls made | wc -l)" = 4
