#!/usr/bin/env python3
"""serve.py BUILD [--every N] [--moments N] [--keep]: tfy serve is killed while clients use it.

Clients start runs with keys, answer their questions and send them signals; another one follows the events, Redis and NATS are
given all records, and a schedule has missed times to make good. The server is killed before or after its n-th commit, or at moments nobody chose, and started
again; clients ask again what they got no answer to. At the end the log is compared with what clients were told:

  - of every change that was answered with 2xx the record is there, not behind the one that Tfy-Lsn names;
  - every key is one run, and a repeated start says so; every answer and every signal is there once, a second answer is refused
    and told who gave the first, and every run ended with its own;
  - the events are every record once, in order, and so are the streams of Redis and NATS, where they are installed;
  - every time of the schedule that was due is one run, and no other time is;
  - `tfy verify` finds nothing.

--every N: each N-th commit, before and after it (1). --moments N: so many trials with kills at random moments (0).
The last line is "N passed, N failed".
"""
import argparse, http.client, json, os, random, shutil, signal, socket, sqlite3, subprocess, sys, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))

PROGRAM = """
workflow order(n: int) -> string {
    let fine = yield approve("take ${n}?")
    let size: string = yield signal("size")
    return "${n} ${fine} ${size}"
}
workflow tick() -> int { return 1 }
"""
CONFIG = {"schedules": {"often": {"cron": "*/5 * * * *", "start": "shop.tick", "catch_up": "2h", "overlap": "allow"}}}
MISSED = 6       # times of the schedule that are made good
ORDERS = 6       # runs that clients start
PATIENCE_S = 60  # of a trial


class Broken(Exception):
    """What was promised was not kept."""


class Unix(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("x", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        # The path of a socket is short; that of a directory need not be.
        here = os.open(os.path.dirname(self.path), os.O_PATH)
        try:
            self.sock.connect("/proc/self/fd/%d/%s" % (here, os.path.basename(self.path)))
        finally:
            os.close(here)


class Bus:
    """A server that followers write to, for all trials; each has a stream of its own. found: it is installed."""

    def __init__(self, name, *words):
        os.environ["PATH"] += ":/usr/sbin"
        self.name, self.process, self.found = name, None, shutil.which(words[0]) is not None
        self.dir = tempfile.mkdtemp(prefix="tfy-%s-" % name)
        with socket.socket() as any_port:
            any_port.bind(("127.0.0.1", 0))
            self.port = any_port.getsockname()[1]
        if self.found:
            self.process = subprocess.Popen([word.format(port=self.port, dir=self.dir) for word in words],
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def address(self, stream):
        return "%s://127.0.0.1:%d?stream=%s" % (self.name, self.port, stream)

    def lsns(self, stream):
        """Of the records that a stream has, in its order."""
        if self.name == "redis":
            words = ["redis-cli", "-p", str(self.port), "--raw", "xrange", stream, "-", "+"]
            said = subprocess.run(words, capture_output=True, text=True).stdout.splitlines()
            return [int(line[:-2]) for line in said if line.endswith("-0") and line[:-2].isdigit()]
        words = [sys.executable, os.path.join(HERE, "../e2e/publish_nats.py"), str(self.port), stream]
        said = subprocess.run(words, capture_output=True, text=True).stdout.splitlines()
        return [int(line.split(" ", 2)[1].split("/")[1]) for line in said]

    def end(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.dir)


class Trial:
    numbers = 0

    def __init__(self, build, base, place, buses=()):
        Trial.numbers += 1
        self.build, self.place, self.buses, self.stream = build, place, buses, "trial%d" % Trial.numbers
        self.dir = tempfile.mkdtemp(prefix="tfy-serve-")
        shutil.copytree(base, self.dir, dirs_exist_ok=True)
        self.db = os.path.join(self.dir, "runs.db")
        self.server, self.deaths, self.over = None, 0, threading.Event()
        self.first_due = 0   # the oldest time of the schedule that is made good, in seconds
        followers = {bus.name: {"to": bus.address(self.stream)} for bus in buses}
        with open(os.path.join(self.dir, "serve.json"), "w") as file:
            json.dump({**CONFIG, **({"followers": followers} if followers else {})}, file)
        self.lock = threading.Lock()
        self.told = []       # (lsn, type, run) of every 2xx
        self.runs = {}       # key: run
        self.events = []     # (id, record)
        self.heads = []      # of each hello
        self.wrong = []

    # ---- the server ----

    def start(self, kill=None):
        env = dict(os.environ, TFY_DB=self.db)
        env.pop("TFY_TEST_KILL", None)
        if kill:
            env["TFY_TEST_KILL"] = kill
        log = open(os.path.join(self.dir, "log"), "ab")
        self.server = subprocess.Popen([os.path.join(self.build, "tfy-serve"), "--db=" + self.db, "--config=serve.json",
                                        "--no-tcp", "shop=shop.so"], cwd=self.dir, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()

    def watch(self):
        """Starts it again whenever it was killed."""
        while not self.over.is_set():
            status = self.server.poll()
            if status is None:
                time.sleep(0.01)
            elif status == -signal.SIGKILL:
                self.deaths += 1
                self.start()
            else:
                self.wrong.append("the server ended with %d" % status)
                self.over.set()

    # ---- clients ----

    def ask(self, method, path, body=None, headers=()):
        """The answer, however often it has to be asked for; None: the trial is over."""
        deadline = time.time() + PATIENCE_S
        while not self.over.is_set() and time.time() < deadline:
            connection = Unix(self.db + "-live/http", 10)
            try:
                connection.request(method, path, None if body is None else json.dumps(body),
                                   {"Content-Type": "application/json", **dict(headers)})
                answer = connection.getresponse()
                text = answer.read()
                if answer.status not in (429, 503):
                    return answer.status, json.loads(text), answer.headers.get("Tfy-Lsn"), answer.headers
            except (OSError, http.client.HTTPException, ValueError):
                pass
            finally:
                connection.close()
            time.sleep(0.02)
        return None

    def change(self, path, body, kind, run=None, headers=(), repeated=()):
        """A change: what it is told is compared with the log later. repeated: statuses that say it was done before."""
        answer = self.ask("POST", path, body, headers)
        if not answer:
            return None
        status, value, lsn, heads = answer
        if status in repeated:
            return value
        if status == 200 and kind == "InstructionStart" and heads.get("Idempotency-Replayed") != "true":
            raise Broken("a repeated start does not say so: %s" % value)
        if status not in (200, 201):
            raise Broken("%s: %d %s" % (path, status, value))
        if lsn:
            with self.lock:
                self.told.append((int(lsn), kind, run or value["id"]))
        return value

    def order(self, n):
        key = "order-%d" % n
        made = self.change("/v1/programs/shop/workflows/order/runs", {"args": {"n": n}}, "InstructionStart",
                           headers={"Idempotency-Key": key})
        if not made:
            return
        run = made["id"]
        with self.lock:
            if self.runs.setdefault(key, run) != run:
                raise Broken("%s is two runs" % key)
        if n % 2:  # once more with the same key, as a client does that lost the answer
            again = self.change("/v1/programs/shop/workflows/order/runs", {"args": {"n": n}}, "InstructionStart",
                                headers={"Idempotency-Key": key})
            if again and again["id"] != run:
                raise Broken("%s is two runs: %s, %s" % (key, run, again["id"]))
        other = self.ask("POST", "/v1/programs/shop/workflows/order/runs", {"args": {"n": n + 100}}, {"Idempotency-Key": key})
        if other and (other[0] != 422 or "key-reused" not in other[1]["type"]):
            raise Broken("another start has the key %s: %s" % (key, other))
        question = None
        while not question and not self.over.is_set():
            answer = self.ask("GET", "/v1/questions?run=" + run)
            question = answer and answer[0] == 200 and answer[1]["questions"]
            if not question:
                time.sleep(0.02)
        if question:
            self.change("/v1/questions/%s/1/1/answer" % run, {"answer": True}, "Approval", run, repeated=(409,))
            second = self.ask("POST", "/v1/questions/%s/1/1/answer" % run, {"answer": False})
            if second and (second[0] != 409 or not second[1].get("answer", {}).get("by")):
                raise Broken("a second answer is told %s" % (second,))
        self.change("/v1/runs/%s/signals" % run, {"name": "size", "value": "s%d" % n, "id": "sent-%d" % n}, "Signal", run)
        while not self.over.is_set():
            answer = self.ask("GET", "/v1/runs/" + run)
            if answer and answer[1].get("ended"):
                if answer[1].get("result") != "%d true s%d" % (n, n):
                    raise Broken("run %s gave %s" % (run, answer[1]))
                return
            time.sleep(0.02)

    def client(self, n):
        try:
            self.order(n)
        except Exception as why:
            self.wrong.append(repr(why))
            self.over.set()

    def follow(self):
        """Goes on behind the newest id that it got."""
        last = None
        while not self.over.is_set():
            connection = Unix(self.db + "-live/http", 1)
            try:
                connection.request("GET", "/v1/events" + ("" if last else "?after=0"), headers={"Last-Event-ID": last} if last else {})
                stream = connection.getresponse()
                event = {}
                while not self.over.is_set():
                    line = stream.fp.readline()
                    if not line:
                        break
                    name, _, value = line.decode().rstrip("\n").partition(": ")
                    if name:
                        event[name] = value
                    elif event:
                        if event.get("event") == "record":
                            self.events.append((int(event["id"]), json.loads(event["data"])["lsn"]))
                        elif event.get("event") not in ("hello", "bye", None):
                            self.wrong.append("a stream says %s" % event)
                        last = event.get("id", last)
                        event = {}
            except (OSError, http.client.HTTPException):
                pass
            finally:
                connection.close()
            time.sleep(0.01)

    # ---- a trial ----

    def settled(self, log):
        """All runs have ended, and the follower has what they left."""
        newest = log.execute("select max(lsn) from wal where tid > 0").fetchone()[0] or 0
        live = log.execute("select count(*) from run where state < 12").fetchone()[0]
        ticks = log.execute("select count(*) from run").fetchone()[0]
        return (not live and ticks >= ORDERS + MISSED and self.events and self.events[-1][0] >= newest and
                all((bus.lsns(self.stream) or [0])[-1] >= newest for bus in self.buses))

    def disturb(self, moments):
        for wait in moments:
            if self.over.wait(wait):
                return
            try:
                self.server.send_signal(signal.SIGKILL)
            except OSError:
                pass

    def miss(self):
        """As if the server had not run while the schedule had some times."""
        self.start()
        while self.ask("GET", "/readyz") is None:
            pass
        self.server.terminate()
        self.server.wait()
        done = int(time.time()) // 300 * 300 - 300 * MISSED
        self.first_due = done + 300
        with sqlite3.connect(self.db + "-serve") as db:
            db.execute("update schedule set done_s=?", (done,))

    def run(self, moments=()):
        self.miss()
        self.start(self.place)
        workers = [threading.Thread(target=self.client, args=(n,)) for n in range(ORDERS)]
        others = [threading.Thread(target=self.watch), threading.Thread(target=self.follow)]
        if moments:
            others.append(threading.Thread(target=self.disturb, args=(moments,)))
        for thread in workers + others:
            thread.start()
        for thread in workers:
            thread.join()
        deadline = time.time() + PATIENCE_S
        log = sqlite3.connect("file:%s?mode=ro" % self.db, uri=True, timeout=10)
        while not self.over.is_set() and not self.settled(log):
            if time.time() > deadline:
                self.wrong.append("it did not come to an end")
                break
            time.sleep(0.05)
        log.close()
        self.over.set()
        for thread in others:
            thread.join()
        self.end()
        return self.check()

    def end(self):
        """In order, the second time if its last commits were the ones to be killed at, or it was about to start."""
        self.server.terminate()
        if self.server.wait(30) in (-signal.SIGKILL, -signal.SIGTERM):
            self.deaths += 1
            self.start()
            self.over.clear()
            self.ask("GET", "/readyz")
            self.server.terminate()
            self.server.wait(30)
        if self.server.returncode != 0:
            self.wrong.append("the server ended with %d" % self.server.returncode)

    # ---- what was promised ----

    def check(self):
        verify = subprocess.run([os.path.join(self.build, "tfy"), "verify", "--db", self.db], capture_output=True, text=True)
        if verify.returncode:
            self.wrong.append("verify: " + verify.stderr + verify.stdout)
        log = sqlite3.connect("file:%s?mode=ro" % self.db, uri=True)
        records = {lsn: (kind, run) for lsn, kind, run in log.execute("select lsn, type, run from history")}
        first = {}
        for lsn, of in records.items():
            first[of] = min(lsn, first.get(of, lsn))
        for lsn, kind, run in self.told:
            if lsn not in records or first.get((kind, run), lsn + 1) > lsn:
                self.wrong.append("2xx for %s of %s at %d, and the log has it at %s" % (kind, run, lsn, first.get((kind, run))))
        orders = [run for run, in log.execute("select run from history where type='InstructionStart' and workflow='order'")]
        if sorted(orders) != sorted(self.runs.values()):
            self.wrong.append("%d keys are the runs %s" % (len(self.runs), orders))
        for kind in ("Approval", "Signal"):
            for run in self.runs.values():
                count = log.execute("select count(*) from history where type=? and run=?", (kind, run)).fetchone()[0]
                if count != 1:
                    self.wrong.append("run %s has %d records %s" % (run, count, kind))
        ticks = [json.loads(payload).get("id") for payload, in log.execute(
            "select payload from history where type='InstructionStart' and workflow='tick'")]
        due = ["schedule/often/" + time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(at))
               for at in range(self.first_due, int(time.time()) + 1, 300)]
        # A time that came while the trial ended may have found no server.
        if sorted(ticks) not in (due, due[:-1]) or len(ticks) < MISSED:
            self.wrong.append("the schedule started %s, and was due at %s" % (ticks, due))
        ids = [lsn for lsn, _ in self.events]
        wanted = [lsn for lsn, in log.execute("select lsn from wal where lsn <= ? order by lsn", (ids[-1] if ids else 0,))]
        if ids != wanted or any(a != b for a, b in self.events):
            self.wrong.append("the stream has %s, and the log %s" % (ids, wanted))
        for bus in self.buses:
            ids = bus.lsns(self.stream)
            wanted = [lsn for lsn, in log.execute("select lsn from wal where lsn <= ? order by lsn", (ids[-1] if ids else 0,))]
            if not ids or ids != wanted:
                self.wrong.append("%s has %s, and the log %s" % (bus.name, ids, wanted))
        log.close()
        return self.wrong


def prepare(build):
    """A directory with the program and the configuration."""
    base = tempfile.mkdtemp(prefix="tfy-serve-base-")
    with open(os.path.join(base, "shop.tfy"), "w") as file:
        file.write(PROGRAM)
    with open(os.path.join(base, "serve.json"), "w") as file:
        json.dump(CONFIG, file)
    subprocess.run([os.path.join(build, "tfy"), "build", "--shared", "shop.tfy", "-o", "shop.so"], cwd=base, check=True)
    return base


def main():
    words = argparse.ArgumentParser()
    words.add_argument("build")
    words.add_argument("--every", type=int, default=1)
    words.add_argument("--moments", type=int, default=0)
    words.add_argument("--keep", action="store_true")
    given = words.parse_args()
    build = os.path.abspath(given.build)
    base = prepare(build)
    passed = failed = 0
    all_buses = [Bus("redis", "redis-server", "--port", "{port}", "--bind", "127.0.0.1", "--dir", "{dir}", "--save", ""),
                 Bus("nats", "nats-server", "-a", "127.0.0.1", "-p", "{port}", "-js", "-sd", "{dir}")]
    buses = [bus for bus in all_buses if bus.found]
    for bus in all_buses:
        if not bus.found:
            print("skipped: %s is not installed" % bus.name)

    def tried(trial, name, moments=()):
        nonlocal passed, failed
        wrong = trial.run(moments)
        if wrong:
            failed += 1
            print("not ok server %s" % name, *("    " + str(one)[:600] for one in wrong[:5]), sep="\n")
        else:
            passed += 1
        if given.keep and wrong:
            print("    kept in", trial.dir)
        else:
            shutil.rmtree(trial.dir)
        return trial.deaths

    for place in ("before", "after"):
        at = 1
        while tried(Trial(build, base, "%s:%d" % (place, at), buses), "%s:%d" % (place, at)):
            at += given.every
        if at == 1:
            failed += 1
            print("not ok server: it was not killed")
    for number in range(given.moments):
        chance = random.Random(number)
        if not tried(Trial(build, base, None, buses), "moments %d" % number, [chance.uniform(0.01, 0.12) for _ in range(4)]):
            failed += 1
            print("not ok server moments %d: it was not killed" % number)
    for bus in all_buses:
        bus.end()
    shutil.rmtree(base)
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(failed != 0)


main()
