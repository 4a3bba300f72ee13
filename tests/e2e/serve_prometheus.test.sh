#!/bin/sh
# A real Prometheus scrapes tfy serve with a token, by the configuration and with the rules that docs/serving.md shows.
. "$here/lib.sh"
. "$here/serve_lib.sh"
if ! command -v prometheus >/dev/null || ! command -v promtool >/dev/null; then
    echo "skipped: prometheus is not installed"
    exit 0
fi
cat >shop.tfy <<'END'
workflow order(n: int) -> int {
    yield sleep(300ms)
    return n + 1
}
END
cat >serve.json <<'END'
{"listen": [{"address": "127.0.0.1:0"}],
 "programs": {"shop": {"limits": {"order": {"max_running": 1}}}},
 "followers": {"nowhere": {"to": "otlp+http://127.0.0.1:9"}},
 "schedules": {"nightly": {"cron": "30 2 * * *", "start": "shop.order", "args": {"n": 1}}}}
END
shown prometheus.yml
shown tfy.rules.yml
tfy token create prometheus --roles viewer --rate none >tfy.token
serves shop.tfy --config serve.json
kill -0 "$server" || exit 1
address=$(sed -n 's|^tfy serve: serving .* and http://||p' served)
check "promtool accepts the scrape configuration" promtool check config prometheus.yml
check "... and the rules" promtool check rules tfy.rules.yml

for n in 1 2 3; do post /v1/programs/shop/workflows/order/runs "{\"args\":{\"n\":$n}}"; done
check "a third start is queued" is state queued
settled "$(member id)" completed
ask http://x/metrics
check "promtool accepts the figures" sh -c 'promtool check metrics <out >said 2>&1 && [ ! -s said ]'
named() { grep -q "^# TYPE $1 $2\$" out; }
for figure in http_requests_total:counter http_seconds:histogram loop_turn_seconds:histogram queue_length:gauge \
    start_wait_seconds:histogram sse_subscribers:gauge index_lag_records:gauge follower_lag_records:gauge questions_open:gauge \
    question_oldest_seconds:gauge in_doubt:gauge schedule_late_seconds:gauge build_info:gauge; do
    check "there is tfy_${figure%:*}" named "tfy_${figure%:*}" "${figure#*:}"
done
value() { awk -v name="$1" '$1 == name { print $2 }' out; }
check "three runs began" [ "$(value tfy_start_wait_seconds_count)" = 3 ]
check "... the first at once" [ "$(value 'tfy_start_wait_seconds_bucket{le="0.0005"}')" = 1 ]
check "... the others after those before" python3 -c 'assert 0.5 < float("'"$(value tfy_start_wait_seconds_sum)"'") < 20'
check "turns are short, and sleep is none of them" python3 -c 'assert 5 < '"$(value tfy_loop_turn_seconds_count)"' and '"$(value tfy_loop_turn_seconds_sum)"' < 0.5'
check "no figure names a run" sh -c '! grep -qE "[0-9a-f]{8}-[0-9a-f]{4}-" out'

sed "s/127.0.0.1:8433/$address/; s/^scrape_configs/global: {scrape_interval: 200ms, evaluation_interval: 200ms}\n&/" prometheus.yml >scrape.yml
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
prometheus --config.file=scrape.yml --storage.tsdb.path=tsdb --web.listen-address="127.0.0.1:$port" --log.level=warn >prometheus.log 2>&1 &
prometheus=$!
# finds EXPRESSION VALUE: waits until it has one.
finds() { tries=0
    until curl -sS --get --data-urlencode "query=$1" "http://127.0.0.1:$port/api/v1/query" >found 2>&1 && grep -q "\"value\":\[[0-9.]*,\"$2\"\]" found ||
        [ $((tries += 1)) -gt 150 ]; do sleep 0.1; done
    grep -q "\"value\":\[[0-9.]*,\"$2\"\]" found || { cat found; tail -n 5 prometheus.log; return 1; }; }
check "Prometheus scrapes it: it is up" finds 'up{job="tfy"}' 1
check "... and knows its figures" finds 'tfy_start_wait_seconds_count' 3
check "... by route" finds 'sum(tfy_http_requests_total{route="POST /v1/programs/{p}/workflows/{w}/runs",code="201"})' 3
check "the rules are evaluated" sh -c 'curl -sS "http://127.0.0.1:$1/api/v1/rules" | python3 -c "
import json, sys
rules = json.load(sys.stdin)[\"data\"][\"groups\"][0][\"rules\"]
assert len(rules) >= 9 and all(not rule.get(\"lastError\") for rule in rules), rules"' sh "$port"
tfy token revoke prometheus >/dev/null
check "without its token it is not" finds 'up{job="tfy"}' 0
kill "$prometheus"
wait "$prometheus" 2>/dev/null
ends
