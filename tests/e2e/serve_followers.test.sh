#!/bin/sh
# Followers of a server: started with it, again after a fault, and as the configuration says; what GET /v1/followers says of them.
. "$here/lib.sh"
. "$here/serve_lib.sh"
cat >shop.tfy <<'END'
workflow order(customer: string) -> string { return "${customer}: 5" }
END
python3 "$here/publish_sink.py" hooked &
sink=$!
trap 'kill $sink $server 2>/dev/null' EXIT
within 10 [ -e hooked.port ]
to=http://127.0.0.1:$(cat hooked.port)
{ printf whsec_; head -c 32 /dev/urandom | base64; } >hook.key
config() { # MEMBERS of followers
    echo "{\"followers\": {$1}}" >serve.json
}
order() { post /v1/programs/shop/workflows/order/runs '{"args":{"customer":"'"$1"'"}}' -H "Prefer: wait=10"; }
arrived() { grep "\"$1\"" hooked | grep -qF -- "$2"; }
of() { # NAME MEMBER VALUE: GET /v1/followers says so
    ask http://x/v1/followers && python3 - "$@" <<'END'
import json, sys
one, = [one for one in json.load(open("out"))["followers"] if one["name"] == sys.argv[1]]
sys.exit(str(one[sys.argv[2]]) != sys.argv[3])
END
}
pid_of() { pgrep -f "^tfy-publish --db=$TFY_DB --name=$1 "; }
gone() { ! pid_of "$1"; }
other() { pid_of "$1" | grep -vqx "$2"; }

config "\"bus\": {\"to\": \"$to/bus?key=geheim\", \"secret_file\": \"hook.key\"}, \"ends\": {\"to\": \"$to/ends\", \"type\": [\"TaskComplete\"], \"secret_file\": \"hook.key\"}, \"wrong\": {\"to\": \"$to/x\"}"
serves shop.tfy --no-tcp --config serve.json
order ann
check "a follower of the configuration gets what is recorded" within 10 arrived "/bus?key=geheim" TaskComplete
check "... and another one what it wants" within 10 arrived /ends TaskComplete
check "... alone" sh -c '! grep "\"/ends\"" hooked | grep -q InstructionStart'
check "it is listed, at the end of the log" within 10 of bus lag 0
check "... and at work" of bus works True
check "... without what its address hides" sh -c 'grep -q "\"to\":\"http://127.0.0.1:[0-9]*/bus\"" out && ! grep -q geheim out'
check "one that cannot work says so" within 10 of wrong error "its process ended with status 64; the server's lines say why"
check "... in the lines" sh -c 'grep -q "webhooks are signed" served && grep -q "follower wrong ended with status 64; it starts again in 60 s" served'
ask http://x/v1/followers?x=1
check "an unknown parameter is refused" says 400
lag() { ask http://x/metrics && grep -qx "tfy_follower_lag_records{name=\"$1\"} $2" out; }
check "the lag is a figure" within 10 lag bus 0

first=$(pid_of bus)
kill -KILL "$first"
check "one that was killed starts again" within 10 other bus "$first"
order bob
check "... where it was" within 10 arrived "/bus?key=geheim" bob
order eve

config "\"bus\": {\"to\": \"$to/bus2\", \"secret_file\": \"hook.key\"}"
kill -HUP "$server"
check "another address is taken at once" within 10 of bus to "$to/bus2"
order dan
check "... with the place of before" within 30 arrived /bus2 dan
check "... and nothing from before that" sh -c '! grep "\"/bus2\"" hooked | grep -q "ann\|bob"'
check "one that is not asked for any more ends" within 10 gone ends
kill -KILL "$server"
wait "$server" 2>/dev/null
check "they end with a server that is killed" within 10 gone bus
serves shop.tfy --no-tcp --config serve.json
order fox
check "... and start with the next one" within 10 arrived /bus2 fox
ends
check "the server ends in order, and they with it" gone bus

# ---- what is refused ----

refuses() { # MEMBERS TEXT
    config "$1"
    run tfy serve --check --config serve.json
    check "refused: $2" ended 64 "serve.json:1: \$.followers.$2"
}
refuses '"Bus": {"to": "redis://h"}' "Bus: a name starts with a small letter"
refuses '"bus": {}' 'bus: a follower has "to"'
refuses '"bus": {"to": "redis"}' "bus.to: it is not an address such as"
refuses '"bus": {"to": "redis://u:geheim@h"}' "bus.to: the address has a password, which ps shows to everybody"
check "... without the password" sh -c '! grep -q geheim err'
refuses '"bus": {"to": "redis://h", "type": ["Toolresult"]}' "bus.type: 'Toolresult' is not a type of records; did you mean 'ToolResult'?"
refuses '"bus": {"to": "redis://h", "types": []}' "bus.types: it is not known here; did you mean 'type'?"
