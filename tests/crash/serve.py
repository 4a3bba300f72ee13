#!/usr/bin/env python3
"""serve.py BUILD [--every N] [--moments N] [--keep]: tfy serve is killed while clients use it.

Clients start runs with keys, answer their questions and send them signals; another one follows the events, and a schedule has
missed times to make good. The server is killed before or after its n-th commit, or at moments nobody chose, and started
again; clients ask again what they got no answer to. At the end the log is compared with what clients were told:

  - of every change that was answered with 2xx the record is there, not behind the one that Tfy-Lsn names;
  - every key is one run, every answer and every signal is there once, and every run ended with its own;
  - the events are every record once, in order;
  - every time of the schedule is one run;
  - `tfy verify` finds nothing.

--every N: each N-th commit, before and after it (1). --moments N: so many trials with kills at random moments (0).
The last line is "N passed, N failed".
"""
import argparse, http.client, json, os, random, shutil, signal, socket, sqlite3, subprocess, sys, tempfile, threading, time

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


class Trial:
    def __init__(self, build, base, place):
        self.build, self.place = build, place
        self.dir = tempfile.mkdtemp(prefix="tfy-serve-")
        shutil.copytree(base, self.dir, dirs_exist_ok=True)
        self.db = os.path.join(self.dir, "runs.db")
        self.server, self.deaths, self.over = None, 0, threading.Event()
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
                    return answer.status, json.loads(text), answer.headers.get("Tfy-Lsn")
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
        status, value, lsn = answer
        if status in repeated:
            return value
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
        question = None
        while not question and not self.over.is_set():
            answer = self.ask("GET", "/v1/questions?run=" + run)
            question = answer and answer[0] == 200 and answer[1]["questions"]
            if not question:
                time.sleep(0.02)
        if question:
            self.change("/v1/questions/%s/1/1/answer" % run, {"answer": True}, "Approval", run, repeated=(409,))
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
        return not live and ticks >= ORDERS + MISSED and self.events and self.events[-1][0] >= newest

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
        with sqlite3.connect(self.db + "-serve") as db:
            db.execute("update schedule set done_s=?", (int(time.time()) // 300 * 300 - 300 * MISSED,))

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
        if len(ticks) != len(set(ticks)) or len(ticks) < MISSED:
            self.wrong.append("the schedule started %s" % ticks)
        ids = [lsn for lsn, _ in self.events]
        wanted = [lsn for lsn, in log.execute("select lsn from wal where lsn <= ? order by lsn", (ids[-1] if ids else 0,))]
        if ids != wanted or any(a != b for a, b in self.events):
            self.wrong.append("the stream has %s, and the log %s" % (ids, wanted))
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
        while tried(Trial(build, base, "%s:%d" % (place, at)), "%s:%d" % (place, at)):
            at += given.every
        if at == 1:
            failed += 1
            print("not ok server: it was not killed")
    for number in range(given.moments):
        chance = random.Random(number)
        tried(Trial(build, base, None), "moments %d" % number, [chance.uniform(0.02, 0.5) for _ in range(4)])
    shutil.rmtree(base)
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(failed != 0)


main()
