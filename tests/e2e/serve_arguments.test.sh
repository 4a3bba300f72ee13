#!/bin/sh
# 10,000 generated arguments: what fits starts a run, and what is broken in one place is refused with the path of that place.
. "$here/lib.sh"
. "$here/serve_lib.sh"
cat >shop.tfy <<'END'
enum Size { small, large, made(width: int, note: string?) }

type Item { name: string, n: int, price: float, size: Size = Size.small, tags: list<string> = [] }

workflow order(customer: string, count: int, weight: float, gift: bool, items: list<Item>, stock: map<string, int>,
               size: Size, note: string?, wait: duration, due: time, rest: json) -> int {
    return count
}
END
serves shop.tfy --no-tcp
kill -0 "$server" || exit 1
cat >generate.py <<'END'
import copy, json, random, sys, threading
from unix_http import Unix

PATH = "/v1/programs/shop/workflows/order/runs"
SOCKET = sys.argv[1]


class Raw(str):
    """JSON as it is written, for what json.dumps does not write."""

def write(value):
    if isinstance(value, Raw): return str(value)
    if isinstance(value, dict): return "{" + ",".join(json.dumps(k) + ":" + write(v) for k, v in value.items()) + "}"
    if isinstance(value, list): return "[" + ",".join(map(write, value)) + "]"
    return json.dumps(value, ensure_ascii=chance.random() < 0.5)

chance = random.Random(sys.argv[2])
def pick(*of): return chance.choice(of)
def text(): return "".join(pick("a", "Z", "9", " ", "/", "\"", "\\", "\n", "\t", "ü", "€", "😀", "<script>", "\u202e") for _ in range(chance.randrange(9)))
def whole(): return pick(0, 1, -1, 2**53, 2**63 - 1, -2**63, chance.randrange(-10**6, 10**6), 7.0)
def real(): return pick(0, -0.0, 1e308, 5e-324, 3, 2**63, chance.random(), Raw("1E2"), Raw("9" * 40))
def size(): return pick("small", "large", {"case": "made", "width": whole()}, {"case": "made", "width": 1, "note": text()})
def item():
    one = {"name": text(), "n": whole(), "price": real()}
    if pick(True, False): one["size"] = size()
    if pick(True, False): one["tags"] = [text() for _ in range(chance.randrange(3))]
    return one
def arguments():
    args = {"customer": text(), "count": whole(), "weight": real(), "gift": pick(True, False), "size": size(),
            "items": [item() for _ in range(chance.randrange(4))], "stock": {key: whole() for key in ("tea", "oat_1")[:chance.randrange(3)]},
            "wait": pick("90s", "250ms", "2h"), "due": "2026-01-31T12:00:00Z", "rest": pick(None, 1, [text()], {"a": {"b": []}}, text())}
    if pick(True, False): args["note"] = pick(None, text())
    return args

TOO_LARGE = [2**63, -2**63 - 1, 10**30]
NO_NUMBER = [Raw("NaN"), Raw("1e999"), Raw("-1e999"), Raw("Infinity"), Raw("-Infinity"), Raw("9" * 400)]
def wrong(*also): return pick(None, "7", 1.5, {}, {"x": 1}, *also, *TOO_LARGE, *NO_NUMBER)
def no_text(): return pick(None, 7, 1.5, True, [], {}, *NO_NUMBER)
def leaves(args):
    """(path, container, key, a value that does not fit) of every place."""
    yield "customer", args, "customer", no_text()
    yield "count", args, "count", wrong(True, [])
    yield "weight", args, "weight", pick(None, "7", True, [], {}, *NO_NUMBER)
    yield "gift", args, "gift", pick(None, 0, "true", [], *NO_NUMBER)
    yield "items", args, "items", pick(None, 7, "x", {}, *NO_NUMBER)
    yield "size", args, "size", pick(None, 7, "medium", {"case": "huge"}, "made", *NO_NUMBER)
    yield "note", args, "note", pick(7, True, [], {})
    yield "wait", args, "wait", pick(None, "soon", "90 s", True, *NO_NUMBER)
    yield "due", args, "due", pick(None, "today", "2026-02-31T12:00:00Z", True, [])
    yield "stock", args, "stock", pick(None, 7, [], "x")
    for key in args["stock"]: yield "stock." + key, args["stock"], key, wrong(True, [])
    if isinstance(args["size"], dict): yield "size.width", args["size"], "width", wrong(True, [])
    for i, one in enumerate(args["items"]):
        at = "items[%d]" % i
        yield at, args["items"], i, pick(None, 7, "x", [], True)
        yield at + ".name", one, "name", no_text()
        yield at + ".n", one, "n", wrong(True, [])
        yield at + ".price", one, "price", pick(None, "7", True, [], *NO_NUMBER)
        if "size" in one: yield at + ".size", one, "size", pick(7, "medium", {"case": "huge"})
        for j in range(len(one.get("tags", []))): yield "%s.tags[%d]" % (at, j), one["tags"], j, no_text()
def missing(args):
    for name in args:
        if name not in ("note", "rest"): yield name, args, name
    for i, one in enumerate(args["items"]):
        for name in ("name", "n", "price"): yield "items[%d].%s" % (i, name), one, name
    if isinstance(args["size"], dict): yield "size.width", args["size"], "width"

def case(number):
    """(body, status, paths, a text of the answer)"""
    args = arguments()
    kind = number % 8
    if kind < 4: return write({"args": args}), 201, None, None
    if kind < 6:
        path, of, key, value = pick(*leaves(args))
        of[key] = value
    elif kind == 6 and number % 16 == 6:
        path, of, key = pick(*missing(args))
        del of[key]
    elif kind == 6:
        path = pick("custommer", "x", "articles")
        args[path] = pick(1, text(), None)
    else:
        path, args["customer"] = None, pick(Raw('"\\ud800"'), Raw('"\\udc00x"'), Raw('"\\u0000"'), Raw("tea"), Raw("01"), Raw("+1"), Raw("1."), Raw("'x'"), Raw('"a\nb"'))
        return write({"args": args}), 400, None, "line "
    return write({"args": args}), 422, ["$.args." + path], None

failures, done = [], []
def work(cases):
    connection = Unix(SOCKET)
    for body, status, paths, said in cases:
        connection.request("POST", PATH, body.encode("utf-8", "surrogatepass"), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        got = json.loads(text)
        fits = answer.status == status and (paths is None or [e["path"] for e in got.get("errors", [])] == paths) and (said is None or said in got["detail"])
        done.append(status)
        if not fits: failures.append((body, status, paths, answer.status, text.decode()))

cases = [case(number) for number in range(10000)]
threads = [threading.Thread(target=work, args=(cases[i::4],)) for i in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
for failure in failures[:10]: print(*failure, sep="\n  ")
print(len(done), "sent,", len(failures), "answered wrongly")
assert len(done) == 10000 and not failures
END
check "10,000 arguments are taken, or refused at their place" python3 generate.py "$TFY_DB-live/http" 2026
post /v1/programs/shop/workflows/order/runs '{"args": {"customer": 1, "count": 9223372036854775808, "gift": NaN, "weight": 1e999, "extra": 1}}'
check "numbers that nobody can hold are named, all at once" sh -c 'grep -qF "\$.args.gift" out && grep -qF "\$.args.weight" out'
post /v1/programs/shop/workflows/order/runs '{"args": {"count": 9223372036854775808}, "priority": 9223372036854775808}'
check "... wherever they are" says 422 '$.priority'
rest='"customer":"ann","count":1,"weight":1.5,"gift":true,"stock":{},"wait":"1s","due":"2026-11-23T02:29:11Z","rest":{"any":{"thing":1}}'
nested() { post /v1/programs/shop/workflows/order/runs "{\"args\":{$rest,\"size\":$1,\"items\":[{\"name\":\"tea\",\"n\":1,\"price\":2.5$2}]}}"; }
nested '"small"' ''
check "a record that is whole" says 201
nested '"small"' ',"pirce":2'
check "a member that no record has is refused at its place" says 422 '"path":"$.args.items[0].pirce"'
check "... with what may be meant" says 422 "did you mean 'price'?"
nested '{"case":"made","width":3,"heigth":4}' ',"more":2'
check "... in a case, too, all at once" sh -c 'grep -qF "\$.args.size.heigth" out && grep -qF "\$.args.items[0].more" out'
nested '{"case":"made","width":3}' ''
check "... which may have what is its own" says 201
ask "http://x/v1/runs?limit=1"
check "the server is well" says 200
ends
