#!/bin/sh
# docs/serve.schema.json and the reader of the configuration say the same: they have the same members, and judge the examples of
# the guide, and wrong ones, alike.
. "$here/lib.sh"
schema=$here/../../docs/serve.schema.json
cat >members.py <<'END'
import glob, json, re, sys
def names(schema):
    for name, part in schema.get("properties", {}).items():
        yield name
        yield from names(part)
    for key in ("additionalProperties", "items"):
        if isinstance(schema.get(key), dict): yield from names(schema[key])
said = sorted(set(names(json.load(open(sys.argv[1])))))
read = set()
for file in glob.glob(sys.argv[2] + "/config*.c"):
    read |= set(re.findall(r'\{"([a-z_$]+)", JSON_[A-Z]+, ', open(file).read()))
assert said == sorted(read), (set(said) - read, read - set(said))
END
check "the schema has the members that are read, and no others" python3 members.py "$schema" "$here/../../runtime/serve"

modules=$here/../../build/npm/node_modules
node=$(ls "$modules"/node-linux-*/bin/node 2>/dev/null | head -n 1)
if [ -z "$node" ] || [ ! -e "$modules/ajv" ]; then
    echo "skipped: ajv is not installed ('./dev test' installs it)"
    exit 0
fi
cat >judge.mjs <<'END'
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
const Ajv = createRequire(process.argv[2] + "/x.js")("ajv/dist/2020").default;
const fits = new Ajv({ strict: true, strictRequired: false, strictTypes: false }).compile(JSON.parse(readFileSync(process.argv[3], "utf8")));
for (const file of process.argv.slice(4)) console.log(file, fits(JSON.parse(readFileSync(file, "utf8"))) ? "fits" : "refused");
END
judged() # FILE: what the schema says
{
    "$node" judge.mjs "$modules" "$schema" "$1" | cut -d ' ' -f 2
}
read_as() # FILE: what the reader says
{
    tfy serve --check --config "$1" >out 2>err && echo fits || echo refused
}
echo 'workflow order(n: int) -> int { return n }' >shop.tfy
mkdir elsewhere
(umask 077 && echo secret >github.key)
both() # FILE WHAT
{
    check "the schema: $2: $(cat "$1")" [ "$(judged "$1")" = "$2" ]
    check "the reader: $2: $(cat "$1")" [ "$(read_as "$1")" = "$2" ]
}
number=0
good() { number=$((number + 1)); printf '%s\n' "$1" >"good$number.json"; both "good$number.json" fits; }
bad() { number=$((number + 1)); printf '%s\n' "$1" >"bad$number.json"; both "bad$number.json" refused; }

# The examples of the guide, as they stand there.
awk '/^```json [a-z]+\.json$/ { file = "guide-" $2; next } /^```/ { file = "" } file { print >file }' "$here/../../docs/serving.md"
for file in guide-*.json; do
    grep -q '"programs"\|"listen"\|"hooks"\|"schedules"\|"followers"' "$file" || continue
    check "the guide's $file fits" [ "$(judged "$file")" = fits ]
done
good '{}'
good '{"$schema": "https://json-schema.org/x", "drain": "20s", "compile": "2m", "search": false, "models": "github.key"}'
good '{"programs": {"shop": {"file": "shop.tfy", "root": "elsewhere", "sandbox": "readonly", "network": "a.example:443", "grant": ["exec:reads=/srv"], "runners": true, "budget": "cost=5", "secrets": "github.key", "limits": {"order": {"max_running": 1, "max_queued": 2, "per_key": 3, "rate": "5/s", "not_by_starter": true}}}}}'
good '{"listen": [{"address": "127.0.0.1:8433"}, {"unix": "/run/x.sock", "proxy": true, "user_header": "X-User", "groups_header": "X-Groups", "groups": {"ops": ["operator"]}}], "hosts": ["tfy.example.org"]}'
good '{"schedules": {"nightly": {"cron": "30 2 * * *", "zone": "Europe/Berlin", "start": "shop.order", "args": {"n": 1}, "overlap": "skip", "catch_up": "1h", "jitter": "1m"}}}'
good '{"followers": {"traces": {"to": "otlp+http://127.0.0.1:4318", "type": ["Approval"], "content": true}}}'
good '{"hooks": {"github": {"scheme": "github", "secret_file": "github.key", "dedupe": "X-GitHub-Delivery", "start": "shop.order", "args": {"n": "$body.n"}}}}'
bad '[]'
bad '{"programms": {}}'
bad '{"listen": [{"address": "8433"}]}'
bad '{"listen": [{}]}'
bad '{"listen": [{"unix": "/run/x.sock", "address": "127.0.0.1:1", "proxy": true}]}'
bad '{"listen": [{"unix": "/run/x.sock"}]}'
bad '{"listen": [{"address": "127.0.0.1:1", "groups": {"ops": ["root"]}}]}'
bad '{"hosts": ["https://tfy.example.org"]}'
bad '{"programs": {"shop": {"file": "shop.c"}}}'
bad '{"programs": {"shop": {"sandbox": "shut"}}}'
bad '{"programs": {"shop": {"grant": ["exec:eats=x"]}}}'
bad '{"programs": {"shop": {"limits": {"order": {"max_running": 0}}}}}'
bad '{"programs": {"shop": {"limits": {"order": {"rate": "5"}}}}}'
bad '{"schedules": {"nightly": {"cron": "30 2 * * *"}}}'
bad '{"schedules": {"nightly": {"cron": "30 2 * * *", "start": "shop"}}}'
bad '{"schedules": {"nightly": {"cron": "30 2 * * *", "start": "shop.order", "overlap": "wait"}}}'
bad '{"followers": {"traces": {}}}'
bad '{"followers": {"traces": {"to": "ftp://x"}}}'
bad '{"hooks": {"github": {"scheme": "github", "secret_file": "github.key"}}}'
bad '{"hooks": {"github": {"scheme": "gitlab", "secret_file": "github.key", "start": "shop.order"}}}'
bad '{"tls": {"cert": "x.pem"}}'
bad '{"drain": 20}'
bad '{"compile": 20}'
bad '{"search": "no"}'
bad '{"models": {}}'
bad '{"programs": {"shop": {"secrets": true}}}'
