#!/usr/bin/env python3
"""chaos.py BUILD [quick] [--seed N] [--seconds N] [--only NAME] [--jobs N] [--list] [--keep]: workers of one PostgreSQL, and what befalls them.

Each scenario has a server of its own, two or three machines with a `tfy worker`, and runs of chaos.tfy, whose tools write a ledger outside the
database. Processes are killed and stopped, networks are cut, and the server crashes or is not as it should be, while somebody starts more runs,
sends signals, answers questions, and says of steps in doubt what the ledger says. Then everything is mended, all runs must end, and the
database, the ledger and what people were told are compared: chaos_check.py has the rules, and is tested here, too.

quick: the scenarios once, with few runs, as `./dev test` has it. Otherwise they are larger, and `storm` follows for --seconds (240): everything
at random, by --seed. The last line is "N passed, N failed"; the one before it has the figures.
"""
import argparse, collections, concurrent.futures, json, os, random, shutil, signal, subprocess, sys, tempfile, threading, time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import chaos_check
from chaos_world import Away, Machine, Namespace, Pooler, Postgres, Skipped, Wire, must, send, wait_for

LEASE_S = 3
BEHIND_S = 5.5         # what is stopped or cut off for so long has lost its lease, and others have noticed
SHORT_S = 1.2          # … and what is so for so long has not
LONG_MS = 8000         # what a long tool takes: it would work on when another machine takes its run
SOME_MS = 3500         # … where that is not to happen
PATIENCE_S = 90        # until all runs have ended, when everything is mended
ACCEPTED = (0, 75)     # of a command that sends: taken, or in the database
FIGURES = ["runs", "records", "tools", "claims", "takeovers", "silent sessions", "killed sessions", "resolved by the probe", "resolved by a person",
           "signals", "answers", "restarts", "failovers"]


class People:
    """Those who start runs, send signals, answer questions, and say what became of a step; and what they were told."""

    WORDS = {"steps": lambda n: 3 * n, "pays": lambda n: n, "wide": lambda n: 2 * n + 3, "naps": lambda n: n, "asks": lambda n: 2,
             "hears": lambda n: 1, "long": lambda n: 1, "long_once": lambda n: 1}  # how many words of tools a run comes to

    def __init__(self, trial):
        self.trial, self.told = trial, chaos_check.Told()
        self.lock, self.over = threading.Lock(), threading.Event()
        self.asked, self.number, self.wrong = set(), 0, []
        self.threads = [threading.Thread(target=self.again, args=(do,), daemon=True) for do in (self.answer, self.resolve, self.signal)]

    def again(self, do):
        while not self.over.wait(0.25):
            try:
                do()
            except (Away, subprocess.TimeoutExpired):
                pass
            except Exception as why:  # a mistake of this test must not stay hidden
                self.wrong.append("a person failed: %r" % why)
                return

    def start(self, workflow, n=1, ms=30, name=None):
        """Starts a run. With a name the start is repeated until it is acknowledged."""
        with self.lock:
            self.number += 1
            start = {"uuid": None, "id": "run-%d" % self.number if name else None, "acked": False, "words": self.WORDS[workflow](n)}
            self.told.starts.append(start)
        words = ["start", "chaos." + workflow, "--ms", str(ms)]
        words += ["--n", str(n)] if workflow in ("steps", "pays", "wide", "naps", "hears") else []
        words += ["--id", start["id"]] if name else []
        while not start["acked"] and not self.over.is_set():
            done = self.trial.tfy(*words)
            if done and done.returncode == 0:
                start["uuid"], start["acked"] = done.stdout.strip(), True
                if workflow == "hears":
                    self.expect_signals(start["uuid"], n)
            elif not name:
                break
        return start["uuid"]

    def expect_signals(self, run, count):
        with self.lock:
            for number in range(count):
                self.told.signals.append({"run": run, "id": "s%d" % number, "value": "%s-%d" % (run[-6:], number), "acked": False})

    def send_signal(self, signal):
        """Once more, if it was acknowledged already: that changes nothing."""
        done = self.trial.tfy("signal", signal["run"], "go", json.dumps(signal["value"]), "--id", signal["id"], "--timeout", "50ms")
        signal["acked"] |= bool(done) and done.returncode in ACCEPTED

    def signal(self):
        for signal in [signal for signal in self.told.signals if not signal["acked"]]:
            self.send_signal(signal)

    def unsaid(self, kind, answered_by, where=""):
        """Records of a type whose step has no later one of another type, in runs that have not ended."""
        return self.trial.server.rows(
            "select r.uuid as run, t.path as task, d.step, d.lsn from tfy.record d join tfy.run r on r.id = d.run join tfy.task t on t.run = d.run"
            " and t.task = d.task where d.type = %d and r.state < 12 %s and not exists (select 1 from tfy.record s where s.run = d.run and"
            " s.task = d.task and s.step = d.step and s.lsn > d.lsn and s.type = %d)" % (kind, where, answered_by))

    def answer(self):
        rows = self.unsaid(chaos_check.STEP, chaos_check.APPROVAL, """and d.payload like '{"tool":"ask"%'""")
        for row in rows:
            key = row["run"], row["task"], row["step"]
            known = [answer for answer in self.told.answers if (answer["run"], answer["task"], answer["step"]) == key]
            answer = known[0] if known else {"run": key[0], "task": key[1], "step": key[2], "value": "name %s" % key[0][-6:], "acked": False}
            if not known:
                self.told.answers.append(answer)
            if not answer["acked"]:
                done = self.trial.tfy("approve", key[0], answer["value"], "--task", key[1], "--step", str(key[2]), "--timeout", "50ms")
                answer["acked"] = bool(done) and done.returncode in ACCEPTED

    def resolve(self):
        """Each doubt is resolved by what the ledger says: done, if it has an end of the step; otherwise it is tried again."""
        doubts = self.unsaid(chaos_check.DOUBT, chaos_check.RESOLVED)
        for doubt in doubts:
            if tuple(doubt.values()) in self.asked:
                continue
            key = "%s/%s/%s" % (doubt["run"], doubt["task"], doubt["step"])
            ends = [line.text for line in self.trial.ledger() if line.word == "end" and line.key == key]
            words = ["--done", json.dumps(ends[-1])] if ends else ["--retry"]
            done = self.trial.tfy("resolve", doubt["run"], str(doubt["step"]), "--task", doubt["task"], "--timeout", "50ms", *words)
            if done and done.returncode in ACCEPTED:
                self.asked.add(tuple(doubt.values()))

    def content(self):
        """Nothing is left to be acknowledged."""
        return all(item["acked"] for item in self.told.signals + self.told.answers + [start for start in self.told.starts if start["id"]])


class Trial:
    """One scenario."""

    def __init__(self, name, base, seed, large, seconds):
        self.name, self.base, self.large, self.seconds = name, base, large, seconds
        self.random = random.Random("%d %s" % (seed, name))
        self.directory = tempfile.mkdtemp(prefix="tfy-chaos-", dir="/tmp")
        os.chmod(self.directory, 0o755)
        self.place = os.path.join(self.directory, "place")
        os.mkdir(self.place)
        for file in ("chaos.so", "chaos_tool"):
            shutil.copy(os.path.join(base, file), self.place)
        self.server = Postgres(os.path.join(self.directory, "pg"))
        self.others, self.machines, self.wires, self.stopped = [], [], [], []
        self.menders, self.enders = [], []  # what mends a scenario's own faults; what ends what is its own
        self.address = self.server.address()
        self.counts, self.wrong, self.wanted = collections.Counter(), [], {}
        self.lossy = False  # the database was told that it may lose what it has acknowledged, so the ledger proves nothing
        self.people = People(self)

    # ---- the world ----

    def begin(self, prepare=None):
        """The server, with the tables and the program."""
        self.server.copy(os.path.join(self.base, "data"))
        self.server.start()
        if prepare:
            prepare()
        for thread in self.people.threads:
            thread.start()

    def tfy(self, *words, timeout=20):
        """What became of a command of a person; None: nobody knows."""
        try:
            return subprocess.run(["tfy", *words], cwd=self.place, env=dict(os.environ, TFY_DB=self.address), stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            return None

    def machine(self, name, wire=None, address=None, ready=True):
        if wire and not isinstance(wire, Namespace):
            wire = Wire(os.path.join(self.directory, "wire-" + name), self.server)
            address = wire.address()
        self.wires += [wire] if wire else []
        machine = Machine(name, self.place, address or self.address, wire)
        machine.start()
        self.machines.append(machine)
        if ready:
            wait_for(lambda: machine.sessions(), 30, name + " opens a session")
        return machine

    def stop_part(self, machine, part):
        pids = machine.stop_part(part)
        self.stopped += pids
        return pids

    def go_on(self, pids):
        send(pids, signal.SIGCONT)
        self.stopped = [pid for pid in self.stopped if pid not in pids]

    def sleep(self, seconds):
        time.sleep(seconds)

    # ---- runs ----

    def ledger(self):
        return chaos_check.read_ledger(os.path.join(self.place, "ledger.txt"))

    def start_some(self, long_ms=0):
        """Some of each kind. The long tools are begun last, so that they work when the others have begun."""
        start, times = self.people.start, 3 if self.large else 1
        for number in range(times):
            start("steps", 3, 60, name=number % 2 == 0)
            start("pays", 4, 300)
            start("wide", 3, 80, name=True)
            start("naps", 3)
            start("asks", ms=100, name=True)
            start("hears", 3)
            if long_ms:
                start("long", ms=long_ms)
                start("long_once", ms=long_ms, name=True)

    def await_long_tools(self):
        """Two tools that take longer than a lease have begun, and work for some time."""
        def work():
            lines = self.ledger()
            alive = collections.Counter(line.key for line in lines if line.word == "alive")
            ended = {line.key for line in lines if line.word == "end"}
            return len([key for key, count in alive.items() if key not in ended and count > 20]) >= 2
        wait_for(work, 30, "long tools work")

    def unfinished(self):
        return int(self.server.sql("select count(*) from tfy.run where state < 12")[0])

    # ---- its end ----

    def mend(self):
        for mender in self.menders:
            wait_for(lambda: self.answered(mender), 20, "the server takes what mends it")
        for wire in self.wires:
            wire.set("open")
        self.go_on(self.stopped)
        for machine in self.machines:
            if not machine.lives():
                machine.start()

    def answered(self, ask):
        try:
            ask()
            return True
        except Away:
            return False

    def settled(self):
        try:
            return self.people.content() and self.unfinished() == 0
        except Away:
            return False

    def found(self):
        server, found = self.server, chaos_check.Found()
        for row in server.rows("select id, uuid, state, claims, lsn, held from tfy.run"):
            found.runs[row.pop("id")] = row
        for row in server.rows("select run, lsn, prev, task, type, v, step, point, ts, chain, payload from tfy.record order by run, lsn"):
            found.records.setdefault(row["run"], []).append(row)
        for row in server.rows("select run, task, path from tfy.task"):
            found.paths[row["run"], row["task"]] = row["path"]
        for row in server.rows("select id, worker, state, ended, why from tfy.session"):
            found.sessions[row["id"]] = row
        if server.sql("select to_regclass('saved.rows') is not null") == ["t"]:
            found.rows = {tuple(row.values()) for row in server.rows("select tfy_run, tfy_task, tfy_step from saved.rows")}
        return found

    def judge(self):
        """[(kind, text)], after everything was mended."""
        self.mend()
        try:
            wait_for(self.settled, PATIENCE_S * (2 if self.large else 1), "all runs end")
        except TimeoutError:
            pass  # the check says which
        self.people.over.set()
        for thread in self.people.threads:
            thread.join()
        for machine in self.machines:
            status = machine.end()
            if status != 0:
                self.wrong.append(("worker", "%s ended with %d" % (machine.name, status)))
        if self.lossy:
            return self.wrong + [("person", text) for text in self.people.wrong]
        wrong, figures = chaos_check.check(self.found(), self.ledger(), self.people.told)
        self.counts.update(figures)
        self.counts["restarts"] += sum(server.crashes for server in [self.server] + self.others)
        self.counts["signals"] = len(self.people.told.signals)
        self.counts["answers"] = len(self.people.told.answers)
        for name, least in self.wanted.items():
            if self.counts[name] < least:
                wrong.append(("calm", "there were %d %s, and not %d: it disturbed less than it should" % (self.counts[name], name, least)))
        return wrong + self.wrong + [("person", text) for text in self.people.wrong]

    def destroy(self, keep):
        self.people.over.set()
        self.go_on(self.stopped)
        for machine in self.machines:
            machine.destroy()
        for wire in self.wires:
            wire.close()
        for server in [self.server] + self.others:
            server.stop(signal.SIGQUIT)
        for ender in self.enders:
            ender()
        if not keep:
            shutil.rmtree(self.directory, ignore_errors=True)


# ---- scenarios ----

SCENARIOS = {}


def scenario(**wanted):
    """wanted: the least that its figures must come to."""
    def note(function):
        SCENARIOS[function.__name__.replace("_", "-")] = function, {name.replace("_", " "): count for name, count in wanted.items()}
        return function
    return note


def amid_long_tools(trial, wire=None, long_ms=LONG_MS):
    """The machine `east`, which has all that was started, and `west`, which has nothing to do yet."""
    trial.begin()
    if isinstance(wire, Namespace):
        wire.start()
        address = "postgresql://tfy@%s:5432/tfy?tfy_plain=1" % wire.host
        trial.server.stop()
        with open(os.path.join(trial.server.data, "pg_hba.conf"), "a") as file:
            file.write("host all all 198.18.0.0/15 trust\n")
        trial.server.settings.append("listen_addresses=" + wire.host)
        trial.server.start()
        east = trial.machine("east", wire, address)
    else:
        east = trial.machine("east", wire)
    trial.start_some(long_ms)
    trial.await_long_tools()
    return east, trial.machine("west")


def killed(trial, part):
    east, _ = amid_long_tools(trial)
    east.kill_part(part)
    trial.sleep(0.5)
    trial.start_some()


@scenario(killed_sessions=1, takeovers=2)
def runtime_killed(trial):
    """Its worker speaks for it as soon as its tools are dead."""
    killed(trial, "runtime")


@scenario()
def watcher_killed(trial):
    """Tools go with it."""
    killed(trial, "watcher")


@scenario(silent_sessions=1, takeovers=2)
def runtime_and_watcher_killed(trial):
    """Nobody can speak for them, so time decides."""
    killed(trial, "both")


@scenario()
def worker_killed(trial):
    """Its process is asked to stop by the kernel."""
    killed(trial, "worker")


@scenario(silent_sessions=1, takeovers=2)
def machine_killed(trial):
    killed(trial, "machine")


def stopped(trial, part, seconds):
    east, _ = amid_long_tools(trial)
    pids = trial.stop_part(east, part)
    trial.sleep(seconds)
    trial.go_on(pids)


@scenario(takeovers=2)
def runtime_stopped(trial):
    """Longer than its lease."""
    stopped(trial, "runtime", BEHIND_S)


@scenario()
def watcher_stopped(trial):
    stopped(trial, "watcher", BEHIND_S)


@scenario(takeovers=2)
def runtime_and_watcher_stopped(trial):
    stopped(trial, "both", BEHIND_S)


@scenario()
def worker_stopped(trial):
    """Its process does not need it."""
    stopped(trial, "worker", BEHIND_S)


@scenario(silent_sessions=1, takeovers=2)
def machine_stopped(trial):
    """As a virtual machine that hangs, with the clock going on."""
    stopped(trial, "machine", BEHIND_S)


@scenario()
def machine_stopped_for_a_moment(trial):
    """Less than the lease: all parts, one after the other."""
    east, west = amid_long_tools(trial, long_ms=SOME_MS)
    for part in ("machine", "runtime", "watcher"):
        pids = trial.stop_part(east, part)
        trial.sleep(SHORT_S)
        trial.go_on(pids)
        trial.sleep(0.2)


def cut_off(trial, how, seconds, wire=True):
    east, _ = amid_long_tools(trial, wire)
    east.wire.set(how)
    trial.sleep(seconds)
    east.wire.set("open")


@scenario(takeovers=2)
def network_cut(trial):
    cut_off(trial, "cut", BEHIND_S)


@scenario(takeovers=2)
def network_cut_towards_the_server(trial):
    cut_off(trial, "mute", BEHIND_S)


@scenario(takeovers=2)
def network_cut_from_the_server(trial):
    """Commits happen, and nobody hears of it."""
    cut_off(trial, "deaf", BEHIND_S)


@scenario(takeovers=2)
def half_a_commit(trial):
    """Half of it arrives; its transaction holds the row of the session."""
    cut_off(trial, "half", BEHIND_S)


@scenario()
def network_cut_for_a_moment(trial):
    """Shorter than a lease, in each way."""
    east, _ = amid_long_tools(trial, True, SOME_MS)
    for how in ("cut", "mute", "deaf", "half"):
        east.wire.set(how)
        trial.sleep(SHORT_S)
        east.wire.set("open")
        trial.sleep(0.3)


@scenario(takeovers=1)
def network_cut_before_tools(trial):
    """The machine is cut off with runs that it has claimed, and finds more to do."""
    trial.begin()
    east = trial.machine("east", True)
    for _ in range(3):
        trial.people.start("pays", 8, 250, name=True)
    wait_for(trial.ledger, 20, "tools begin")
    east.wire.set("cut")
    trial.machine("west")
    trial.start_some()
    trial.sleep(BEHIND_S)


@scenario(takeovers=2)
def namespace_cut(trial):
    """The network of a machine loses all packets."""
    cut_off(trial, "cut", BEHIND_S, Namespace(1))


@scenario(takeovers=2)
def namespace_cut_from_the_server(trial):
    cut_off(trial, "deaf", BEHIND_S, Namespace(2))


@scenario(restarts=4)
def server_crashes(trial):
    """Again and again, a second apart."""
    amid_long_tools(trial, long_ms=SOME_MS)
    for number in range(20 if trial.large else 4):
        trial.server.crash() if number % 2 else trial.server.crash_inside()
        trial.people.start("steps", 1, name=True)
        trial.sleep(trial.random.uniform(0.3, 1))


@scenario(takeovers=2)
def server_away(trial):
    """Longer than a lease: everything ends, and begins again."""
    amid_long_tools(trial)
    trial.server.stop(signal.SIGQUIT)
    trial.sleep(LEASE_S + 1)
    trial.server.start()
    trial.server.crashes += 1


def with_standby(trial):
    """A primary with a standby that commits wait for, and machines that know both."""
    standby = Postgres(os.path.join(trial.directory, "pg2"))
    trial.others.append(standby)
    trial.begin()
    standby.follow(trial.server)
    trial.server.set("synchronous_standby_names", "*")
    trial.address = trial.server.address(standby)


def fail_over(trial):
    """The primary dies, and its standby takes over."""
    dead, standby = trial.server, trial.others[0]
    dead.stop(signal.SIGQUIT)
    standby.promote()
    standby.set("synchronous_standby_names", "")
    trial.server, trial.others[0] = standby, dead
    trial.counts["failovers"] += 1


@scenario(failovers=1)
def standby_promoted(trial):
    with_standby(trial)
    trial.machine("east")
    trial.start_some(SOME_MS)
    trial.await_long_tools()
    trial.machine("west")
    for number in range(4 if trial.large else 1):
        if number:
            trial.others[0].follow(trial.server)
            trial.server.set("synchronous_standby_names", "*")
            trial.start_some()
            trial.sleep(2)
        fail_over(trial)


@scenario()
def standby_that_nobody_waits_for(trial):
    """A worker says so and does nothing, until commits wait for it."""
    standby = Postgres(os.path.join(trial.directory, "pg2"))
    trial.others.append(standby)
    trial.begin()
    standby.follow(trial.server)
    east = trial.machine("east", ready=False)
    trial.start_some()
    wait_for(lambda: "follows the database asynchronously" in open(east.log).read(), 20, "east refuses")
    if east.sessions() or trial.server.sql("select count(*) from tfy.session") != ["0"]:
        trial.wrong.append(("standby", "a session was opened on a database that would forget"))
    trial.server.set("synchronous_standby_names", "*")
    wait_for(lambda: east.sessions(), 40, "east works")


def lose_commits(trial, away_s, saying):
    """An asynchronous standby, whose sender had stopped, takes over from a database that may lose what it has acknowledged."""
    standby = Postgres(os.path.join(trial.directory, "pg2"))
    trial.others.append(standby)
    trial.lossy = True
    trial.begin(lambda: trial.server.sql("update tfy.meta set lossy = true"))
    standby.follow(trial.server)
    trial.address = trial.server.address(standby)
    east = trial.machine("east")
    runs = [trial.people.start("pays", 40, 100, name=True) for _ in range(3)]
    wait_for(lambda: len([line for line in trial.ledger() if line.word == "end"]) >= 6, 20, "tools work")
    wait_for(lambda: standby.sql("select count(*) from tfy.run where owner is not null") == [str(len(runs))], 20, "the standby follows")
    sender = int(trial.server.sql("select pid from pg_stat_replication")[0])
    os.kill(sender, signal.SIGSTOP)
    before = len(trial.ledger())
    wait_for(lambda: len([line for line in trial.ledger()[before:] if line.word == "begin"]) >= 6, 20, "more tools begin")
    trial.server.process.send_signal(signal.SIGQUIT)
    os.kill(sender, signal.SIGKILL)
    trial.sleep(away_s)
    fail_over(trial)

    def held():
        return trial.server.sql("select count(*) from tfy.run where held = 'lost' and owner is null") == [str(len(runs))]
    try:
        wait_for(held, 3 * LEASE_S, "the runs are held")
    except TimeoutError:
        trial.wrong.append(("lost", "runs of which records were lost are not held: %s" % trial.server.rows("select uuid, owner, held from tfy.run")))
    with open(east.log) as log:
        text = log.read()
    for words in saying + ["3 of its runs are held"]:
        if text.count(words) != 1:
            trial.wrong.append(("lost", "east has said '%s' %d times" % (words, text.count(words))))
    twice = [key for key, count in collections.Counter(line.key for line in trial.ledger() if line.word == "begin").items() if count > 1]
    if twice:
        trial.wrong.append(("lost", "once steps began twice unseen: %s" % twice))
    for run in runs:
        done = trial.tfy("release", run)
        if not done or done.returncode != 0:
            trial.wrong.append(("lost", "a run is not released: %s" % (done and done.stderr)))


@scenario(failovers=1)
def standby_that_lost_commits(trial):
    lose_commits(trial, 0, ["has lost acknowledged commits: session 1 has had ", "has ended with status 74"])


@scenario(failovers=1)
def standby_that_lost_commits_of_the_dead(trial):
    """It takes over when the lease has ended, so the worker has to find out."""
    lose_commits(trial, LEASE_S + 1, ["has lost acknowledged commits of session 1: ", "was killed, as at the end of a lease"])


@scenario()
def server_read_only(trial):
    """For less than a lease, and for more."""
    amid_long_tools(trial, long_ms=SOME_MS)
    trial.menders.append(lambda: trial.server.set("default_transaction_read_only", "off"))
    for seconds in (SHORT_S, LEASE_S + 1):
        trial.server.set("default_transaction_read_only", "on")
        trial.sleep(seconds)
        trial.server.set("default_transaction_read_only", "off")
        trial.sleep(1)


@scenario()
def rows_locked(trial):
    """Somebody has a transaction open, and looks at it."""
    amid_long_tools(trial, long_ms=SOME_MS)
    for tables in ("run", "session") if trial.large else ("run, tfy.session",):
        seconds = 60 if trial.large else LEASE_S + 1
        trial.server.sql("begin; select 1 from tfy.%s for update; select pg_sleep(%d); commit" % (tables, seconds), "tfy", seconds + 20)


@scenario()
def disk_full(trial):
    """Of the table space; the log of the server has another one."""
    if os.geteuid() != 0:
        raise Skipped("a small file system needs root")
    small = os.path.join(trial.directory, "small")
    os.mkdir(small)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,mode=777", "tmpfs", small], capture_output=True).returncode:
        raise Skipped("a small file system cannot be mounted here")
    trial.enders.append(lambda: subprocess.run(["umount", small], capture_output=True))

    def move():
        os.mkdir(small + "/space")
        os.chown(small + "/space", trial.server.user.pw_uid, trial.server.user.pw_gid)
        trial.server.psql.close()
        trial.server.sql("create tablespace small location '%s/space'" % small, "postgres")
        trial.server.sql("alter database tfy set tablespace small", "postgres")
    trial.begin(move)
    trial.machine("east")
    trial.start_some(SOME_MS)
    trial.await_long_tools()
    trial.machine("west")
    with open(small + "/rest", "wb") as rest:
        try:
            while True:
                rest.write(bytes(65536))
                rest.flush()
        except OSError:
            pass
    for _ in range(4):
        threading.Thread(target=trial.people.start, args=("steps", 40, 5), kwargs={"name": True}, daemon=True).start()
    trial.sleep(LEASE_S + 2)
    with open(os.path.join(trial.server.directory, "log")) as log:
        trial.counts["refusals"] = log.read().count("No space left on device")
    trial.wanted["refusals"] = 1
    os.remove(small + "/rest")


@scenario()
def workers_drained(trial):
    """One after the other is asked to stop while it works, and others come."""
    east, west = amid_long_tools(trial, long_ms=SOME_MS)
    for number, machine in enumerate((east, west)):
        trial.machine("north%d" % number)
        trial.start_some()
        status = machine.end()
        if status != 0:
            trial.wrong.append(("worker", "%s was drained, and ended with %d" % (machine.name, status)))
        trial.machines.remove(machine)
        if trial.server.sql("select count(*) from tfy.session where state = 0 and worker = '%s'" % machine.name) != ["0"]:
            trial.wrong.append(("worker", "%s was drained, and has a session" % machine.name))


@scenario(signals=60)
def signals_flood(trial):
    """To one run, which is parked, from four sides."""
    trial.begin()
    trial.machine("east")
    trial.machine("west")
    trial.people.over.set()  # nobody else sends
    for thread in trial.people.threads:
        thread.join()
    trial.people.over.clear()
    count = 300 if trial.large else 60
    run = trial.people.start("hears", count)
    wait_for(lambda: trial.server.sql("select count(*) from tfy.run where owner is null and claims > 0") == ["1"], 20, "it is parked")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(trial.people.send_signal, list(trial.people.told.signals) * 2))
    trial.people.threads = [threading.Thread(target=trial.people.again, args=(trial.people.signal,), daemon=True)]
    trial.people.threads[0].start()


@scenario(claims=80)
def all_due_at_once(trial):
    """Runs that sleep are due together, and the machine that has the most of them dies."""
    trial.begin()
    count = 300 if trial.large else 40
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: trial.people.start("naps", 3, 5), range(count)))
    east = trial.machine("east", True)
    trial.machine("west")
    wait_for(lambda: trial.server.sql("select sum(claims) >= %d from tfy.run" % (count + count // 2)) == ["t"], 60, "they are claimed again")
    east.kill_part("machine")


@scenario(restarts=1)
def pooler_between(trial):
    """In transaction mode. It dies, and the server behind it."""
    pooler = Pooler(os.path.join(trial.directory, "pooler"), trial.server)
    trial.begin()
    pooler.start()
    trial.enders.append(pooler.stop)
    east = trial.machine("east", address=pooler.address())
    trial.start_some(SOME_MS)
    trial.await_long_tools()
    trial.machine("west", address=pooler.address())
    pooler.crash()
    trial.sleep(1)
    trial.server.crash_inside()
    trial.sleep(1)
    east.kill_part("runtime")


# Those that `quick` leaves out, since others are much like them.
LARGE_ONLY = ["watcher-stopped", "worker-stopped", "runtime-and-watcher-stopped", "network-cut-towards-the-server", "namespace-cut-from-the-server"]

# Those that take longest begin first.
LONGEST = ["rows-locked", "pooler-between", "all-due-at-once", "server-away"]

# ---- everything at random ----


class Storm:
    """Faults of all kinds, one after the other and beside each other."""

    UNFINISHED = 80  # runs, at most

    def __init__(self, trial):
        self.trial, self.random = trial, trial.random
        self.later = []  # (when, what), things that end by themselves
        self.until = time.monotonic() + trial.seconds

    def in_a_while(self, what, least=0.5, most=BEHIND_S + 1):
        self.later.append((time.monotonic() + self.random.uniform(least, most), what))

    def any_machine(self):
        alive = [machine for machine in self.trial.machines if machine.lives()]
        return self.random.choice(alive) if alive else None

    def kill(self):
        machine = self.any_machine()
        if machine:
            part = self.random.choice(["runtime", "runtime", "watcher", "both", "worker", "machine", "machine"])
            machine.kill_part(part)
            if part in ("worker", "machine"):
                self.in_a_while(lambda: machine.lives() or machine.start(), 0, 3)

    def stop(self):
        machine = self.any_machine()
        if machine:
            pids = self.trial.stop_part(machine, self.random.choice(["runtime", "watcher", "both", "worker", "machine"]))
            self.in_a_while(lambda: self.trial.go_on(pids))

    def cut(self):
        wire = self.random.choice(self.trial.wires)
        wire.set(self.random.choice(["cut", "mute", "deaf"] + ["half"] * isinstance(wire, Wire)))
        self.in_a_while(lambda: wire.set("open"))

    def crash(self):
        self.trial.server.crash() if self.random.random() < 0.5 else self.trial.server.crash_inside()

    def lock(self):
        table, seconds = self.random.choice(["run", "session"]), self.random.uniform(0.5, 5)
        text = "begin; select 1 from tfy.%s for update; select pg_sleep(%.1f); commit" % (table, seconds)

        def hold():
            try:
                self.trial.server.sql(text, "tfy", 60)
            except Away:
                pass
        threading.Thread(target=hold, daemon=True).start()

    def read_only(self):
        def writable():
            self.trial.server.set("default_transaction_read_only", "off")
        self.trial.server.set("default_transaction_read_only", "on")
        self.in_a_while(writable, 0.2, 3)

    def drain(self):
        machine = self.any_machine()
        if machine:
            machine.process.send_signal(signal.SIGTERM)
            self.in_a_while(lambda: machine.lives() or machine.start(), 5, 8)

    def load(self):
        """Starts runs while there are few."""
        kinds = [("steps", 3, 400), ("pays", 2, 700), ("wide", 4, 300), ("naps", 3, 50), ("asks", 1, 200), ("hears", 2, 10), ("long", 1, SOME_MS),
                 ("long_once", 1, LONG_MS), ("long_once", 1, 1500), ("steps", 6, 10)]
        if time.monotonic() < self.until and self.trial.unfinished() < self.UNFINISHED:
            workflow, n, ms = kinds[self.trial.people.number % len(kinds)]
            self.trial.people.start(workflow, n, ms, name=self.trial.people.number % 3 > 0)

    def loads(self):
        while time.monotonic() < self.until and not self.trial.people.over.is_set():
            try:
                self.load()
            except Away:
                time.sleep(0.2)

    def end_what_is_over(self):
        now = time.monotonic()
        for item in [item for item in self.later if item[0] <= now]:
            self.later.remove(item)
            try:
                item[1]()
            except Away:
                self.later.append((now + 0.3, item[1]))

    def rage(self):
        faults = [self.kill] * 5 + [self.stop] * 4 + [self.cut] * 4 + [self.crash] * 5 + [self.lock, self.read_only, self.drain]
        threads = [threading.Thread(target=self.loads, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        self.trial.menders.append(lambda: self.trial.server.set("default_transaction_read_only", "off"))
        next_s = time.monotonic() + 3
        while time.monotonic() < self.until:
            time.sleep(0.05)
            self.end_what_is_over()
            if time.monotonic() >= next_s:
                try:
                    self.random.choice(faults)()
                except Away:
                    pass
                next_s = time.monotonic() + self.random.uniform(0.3, 3)
        for thread in threads:
            thread.join()


def storm(trial):
    trial.begin()
    trial.machine("east")
    trial.machine("west", True)
    trial.machine("north", True)
    Storm(trial).rage()


# ---- running them ----


def prepare(build):
    """A directory with the program, its tool, and the files of a server that has both deployed."""
    base = tempfile.mkdtemp(prefix="tfy-chaos-base-", dir="/tmp")
    os.chmod(base, 0o755)
    shutil.copy(os.path.join(build, "tests", "cluster", "chaos_tool"), base)
    shutil.copy(os.path.join(HERE, "chaos.tfy"), base)
    must(["tfy", "build", "--shared", "chaos.tfy", "-o", "chaos.so"], cwd=base)
    server = Postgres(os.path.join(base, "pg"))
    server.init()
    server.start()
    server.sql("create database tfy", "postgres")
    must(["tfy", "db", "create", server.address(), "--lease", "%ds" % LEASE_S], cwd=base)
    must(["tfy", "deploy", "chaos.tfy", "--db", server.address()], cwd=base)
    server.stop()
    os.rename(server.data, os.path.join(base, "data"))
    return base


def attempt(name, given):
    """One scenario in this process: prints its lines, and returns the exit status."""
    function, wanted = SCENARIOS[name] if name in SCENARIOS else (storm, dict.fromkeys(["takeovers", "restarts"], given.seconds // 60))
    trial, begun, wrong = None, time.monotonic(), [("trial", "it was stopped")]
    try:
        trial = Trial(name, given.base, given.seed, given.mode != "quick", given.seconds)
        trial.wanted.update(wanted)
        function(trial)
        wrong = trial.judge()
    except Skipped as why:
        print("skipped: %s: %s" % (name, why))
        wrong = None
    except Exception as why:
        wrong = [("trial", "%s: %s" % (type(why).__name__, why))]
    finally:
        if trial:
            trial.destroy(given.keep and wrong)
    if wrong is None:
        return 0
    print("%s chaos: %s, seed %d, %d s" % ("not ok" if wrong else "ok", name, given.seed, time.monotonic() - begun))
    for kind, text in (wrong or [])[:8]:
        print("    %s: %s" % (kind, text[:500]))
    if wrong:
        print("    with --only %s --seed %d%s" % (name, given.seed, "; kept in " + trial.directory if given.keep and trial else ""))
    print("figures " + json.dumps(dict(trial.counts) if trial else {}), flush=True)
    return int(bool(wrong))


class Totals:
    def __init__(self):
        self.passed = self.failed = 0
        self.figures = collections.Counter()
        self.lock = threading.Lock()

    def show(self, line):
        if line.startswith("figures "):
            self.figures.update(json.loads(line[8:]))
            return
        self.passed += line.startswith("ok ")
        self.failed += line.startswith("not ok ")
        print(line, flush=True)

    def scenario(self, name, given):
        """In a process of its own."""
        words = [sys.executable, os.path.abspath(__file__), given.build, given.mode, "--base", given.base, "--only", name, "--seed", str(given.seed),
                 "--seconds", str(given.seconds)] + ["--keep"] * given.keep
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        with self.lock:
            for line in done.stdout.splitlines():
                self.show(line)
            if done.returncode and "not ok" not in done.stdout:
                self.show("not ok chaos: %s ended with %d" % (name, done.returncode))


def words():
    words = argparse.ArgumentParser()
    words.add_argument("build")
    words.add_argument("mode", nargs="?", choices=["quick", "long"], default="long")
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--seconds", type=int, default=240, help="how long the storm lasts")
    words.add_argument("--only", help="this scenario")
    words.add_argument("--jobs", type=int, default=10, help="so many scenarios beside each other")
    words.add_argument("--list", action="store_true", help="print the names of the scenarios")
    words.add_argument("--keep", action="store_true", help="keep the directory of a scenario that failed")
    words.add_argument("--base", help=argparse.SUPPRESS)
    return words.parse_args()


def choose(given):
    if given.only:
        return [given.only]
    names = [name for name in SCENARIOS if given.mode != "quick" or name not in LARGE_ONLY]
    return LONGEST + [name for name in names if name not in LONGEST]


def main():
    given = words()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))  # what was started is ended
    names = list(SCENARIOS) + ["storm"]
    if given.list:
        return print("\n".join(names))
    if given.only and given.only not in names:
        sys.exit("there is no scenario '%s'; --list prints them" % given.only)
    given.build = os.path.abspath(given.build)
    os.environ["PATH"] = given.build + ":" + os.environ["PATH"]
    if given.base:
        sys.exit(attempt(given.only, given))
    totals = Totals()
    for name, fine, why in chaos_check.self_test() if not given.only else []:
        totals.show("%s %s" % ("ok" if fine else "not ok", name))
    try:
        given.base = prepare(given.build)
    except Skipped as why:
        print("skipped: %s\n%d passed, %d failed" % (why, totals.passed, totals.failed))
        sys.exit(totals.failed != 0)
    try:
        with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
            list(pool.map(lambda name: totals.scenario(name, given), choose(given)))
        if not given.only and given.mode != "quick":
            totals.scenario("storm", given)
    finally:
        shutil.rmtree(given.base)
    print(", ".join("%d %s" % (totals.figures[name], name) for name in FIGURES))
    print("%d passed, %d failed" % (totals.passed, totals.failed))
    sys.exit(totals.failed != 0)


if __name__ == "__main__":
    main()
