"""What tests/cluster/chaos.py disturbs: servers of PostgreSQL, wires to them that can be cut, and machines, each with a `tfy worker`.

Everything is the test's own, in one directory, and is reached by sockets there; only machines in network namespaces use TCP, over a pair of
interfaces that is theirs alone. Processes end with the thread that started them, however that ends, so it must be the main one.
"""
import glob, json, os, pwd, select, shutil, signal, socket, subprocess, threading, time

PLACES = ["/usr/lib/postgresql/%d/bin" % version for version in (17, 16, 15)] + ["/usr/local/pgsql/bin", "/usr/bin"]
START_S = 20  # what a server has to start


class Skipped(Exception):
    """What is needed is not there."""


class Away(Exception):
    """The server did not answer."""


def wait_for(done, seconds, what, pause_s=0.1):
    until = time.monotonic() + seconds
    while not done():
        if time.monotonic() > until:
            raise TimeoutError("%s: not within %d s" % (what, seconds))
        time.sleep(pause_s)


def run(words, timeout=60, **more):
    return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, **more)


def must(words, **more):
    done = run(words, **more)
    if done.returncode:
        raise RuntimeError("%s: %d: %s" % (" ".join(words), done.returncode, done.stdout))
    return done.stdout


# ---- servers ----


def find_postgres():
    for place in PLACES:
        if os.access(place + "/initdb", os.X_OK):
            return place
    raise Skipped("PostgreSQL is not installed")


def server_user():
    """A user that is not root, or None: this one is not."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwnam("nobody")


def as_user(user, number):
    """The words that make a command another user's, and let it end with this process by a signal."""
    other = ["--reuid", str(user.pw_uid), "--regid", str(user.pw_gid), "--clear-groups"] if user else []
    return ["setpriv", *other, "--pdeathsig", number]


class Psql:
    """A psql that stays, since questions are asked often. One question at a time."""

    END = "-- that was all --"

    def __init__(self, directory, database):
        self.words = ["psql", "-h", directory, "-U", "tfy", "-d", database, "-qAtX"]
        self.process, self.lock, self.rest = None, threading.Lock(), b""

    def close(self):
        with self.lock:
            self.end()

    def end(self):
        if self.process:
            self.process.kill()
            self.process.communicate()
            self.process, self.rest = None, b""

    def line(self, until):
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))
            chunk = os.read(self.process.stdout.fileno(), 1 << 20) if ready else b""
            if not chunk:
                raise Away("psql has ended" if ready else "no answer")
            self.rest += chunk
        line, _, self.rest = self.rest.partition(b"\n")
        return line.decode()

    def ask(self, text, timeout):
        with self.lock:
            try:
                if not self.process:
                    self.process = subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                self.process.stdin.write(("%s;\n\\echo :ERROR %s\n" % (text, self.END)).encode())
                self.process.stdin.flush()
                lines, until = [], time.monotonic() + timeout
                while not lines or not lines[-1].endswith(self.END):
                    lines.append(self.line(until))
            except (Away, OSError):
                self.end()
                raise Away("no answer to: " + text)
            if lines.pop().startswith("true"):
                self.end()
                raise Away("refused: " + text)
            return lines


class Postgres:
    """A server in a directory of its own. It leaves syncing to the kernel: servers crash here, and machines do not, and a disk that stalls for
    seconds would cost leases."""

    def __init__(self, directory, settings=()):
        self.bin, self.user = find_postgres(), server_user()
        self.directory, self.data = directory, os.path.join(directory, "data")
        self.settings, self.process, self.crashes = list(settings), None, 0
        self.psql = Psql(directory, "tfy")
        os.makedirs(directory, exist_ok=True)
        if self.user:
            os.chown(directory, self.user.pw_uid, self.user.pw_gid)

    def words(self, program, *words):
        return as_user(self.user, "QUIT") + [os.path.join(self.bin, program), *words]

    def init(self):
        must(self.words("initdb", "-D", self.data, "--wal-segsize=1", "-U", "tfy", "-A", "trust", "-N", "--no-instructions", "-E", "UTF8", "--locale=C"),
             cwd=self.directory)

    def copy(self, data):
        """The files of a server that does not run."""
        must(["cp", "-a", data, self.data])

    def start(self):
        settings = ["unix_socket_directories=" + self.directory, "listen_addresses=", "fsync=off", "shared_buffers=16MB", "max_connections=100"]
        settings = [word for setting in settings + self.settings for word in ("-c", setting)]
        with open(os.path.join(self.directory, "log"), "ab") as log:
            self.process = subprocess.Popen(self.words("postgres", "-D", self.data, *settings), cwd=self.directory, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log)
        wait_for(self.answers, START_S, "the server starts", 0.02)

    def answers(self):
        if self.process.poll() is not None:
            raise RuntimeError("the server has ended; see %s/log" % self.directory)
        try:
            return self.sql("select 1", "postgres") == ["1"]
        except Away:
            return False

    def stop(self, how=signal.SIGINT):
        self.psql.close()
        if self.process:
            self.process.send_signal(how)
            self.process.wait()
            self.process = None

    def crash(self):
        """It stops as it does when its machine dies, and starts again."""
        self.stop(signal.SIGQUIT)
        self.start()
        self.crashes += 1

    def crash_inside(self):
        """A process of it is killed: it ends all connections, and starts again by itself."""
        pids = self.sql("select pid from pg_stat_activity where application_name like 'tfy/%'")
        if not pids:
            return self.crash()
        try:
            os.kill(int(pids[0]), signal.SIGKILL)
        except ProcessLookupError:
            return self.crash()
        self.crashes += 1

    def follow(self, primary):
        """Becomes a standby of it, which is running, and starts."""
        shutil.rmtree(self.data, ignore_errors=True)
        must(self.words("pg_basebackup", "-h", primary.directory, "-U", "tfy", "-D", self.data, "-R", "-X", "stream", "-c", "fast", "--no-sync"),
             cwd=self.directory)
        self.start()
        wait_for(lambda: primary.sql("select count(*) from pg_stat_replication where state = 'streaming'") == ["1"], START_S, "the standby follows")

    def promote(self):
        must(self.words("pg_ctl", "promote", "-D", self.data, "-w", "-t", "30"), cwd=self.directory)

    def set(self, name, value):
        """A setting of the server, in a moment."""
        self.sql("alter system set %s = '%s'" % (name, value))
        self.sql("select pg_reload_conf()")

    def sql(self, text, database=None, timeout=20):
        """The rows of one statement, a line each. In another database, or for as long as it takes, by a connection of its own."""
        if not database:
            return self.psql.ask(text, timeout)
        words = ["psql", "-h", self.directory, "-U", "tfy", "-d", database, "-qAtX", "-v", "ON_ERROR_STOP=1", "-c", text]
        try:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            raise Away("no answer to: " + text)
        if done.returncode:
            raise Away(done.stderr)
        return done.stdout.split("\n")[:-1]

    def rows(self, text):
        """The rows of a query, as dictionaries."""
        return [json.loads(line) for line in self.sql("select row_to_json(q) from (%s) as q" % text, timeout=60)]

    def address(self, *others):
        """others: more servers, of which one may take over."""
        return "postgresql:///tfy?host=%s&user=tfy" % ",".join(server.directory for server in (self,) + others)


class Pooler:
    """pgbouncer in transaction mode: each transaction of a client may use another connection of the server."""

    def __init__(self, directory, server):
        self.program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
        if not self.program:
            raise Skipped("pgbouncer is not installed")
        self.directory, self.process = directory, None
        os.makedirs(directory)
        with open(directory + "/ini", "w") as file:
            file.write("[databases]\n* = host=%s user=tfy\n[pgbouncer]\npool_mode = transaction\nlisten_addr =\nunix_socket_dir = %s\n"
                       "auth_type = any\ndefault_pool_size = 8\nserver_login_retry = 1\nlogfile = %s/log\n"
                       % (server.directory, directory, directory))
        user = server_user()
        if user:
            os.chown(directory, user.pw_uid, user.pw_gid)
        self.as_user = as_user(user, "KILL")

    def start(self):
        self.process = subprocess.Popen(self.as_user + [self.program, "-q", self.directory + "/ini"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: glob.glob(self.directory + "/.s.PGSQL.*"), START_S, "the pooler starts")

    def crash(self):
        self.stop()
        self.start()

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def address(self):
        return "postgresql:///tfy?host=%s&port=6432&user=tfy&tfy_prepare=0" % self.directory


# ---- wires ----


class Wire:
    """A way to a server that can be cut, as a network is: connections stay, and what is sent arrives when it is whole again, or never.

    cut: nothing passes; mute: nothing arrives at the server; deaf: nothing of its answers comes back; half: the next longer sending of each
    connection arrives in half, and nothing behind that. Connecting succeeds, as it does with sockets of a machine, and then nobody answers.
    """

    CHUNK = 65536
    LONG = 200  # bytes: a sending with rows in it

    def __init__(self, directory, server):
        self.directory, self.server = directory, server
        self.state, self.half = "open", set()
        self.lock, self.over = threading.Lock(), False
        os.makedirs(directory)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(directory + "/.s.PGSQL.5432")
        self.listener.listen(64)
        threading.Thread(target=self.serve, daemon=True).start()

    def address(self):
        return "postgresql:///tfy?host=%s&user=tfy" % self.directory

    def set(self, state):
        with self.lock:
            self.state = state
            self.half.clear()

    def close(self):
        self.over = True

    def serve(self):
        while not self.over:
            ready, _, _ = select.select([self.listener], [], [], 0.2)
            if ready and self.passes("listener", True, b""):
                threading.Thread(target=self.pair, args=(self.listener.accept()[0],), daemon=True).start()
            elif ready:
                time.sleep(0.02)

    def passes(self, pair, to_server, chunk):
        """How many bytes may pass now."""
        with self.lock:
            if self.state == "half" and to_server:
                if pair in self.half or pair == "listener":
                    return 0
                if len(chunk) >= self.LONG:
                    self.half.add(pair)
                    return len(chunk) // 2
            closed = {"open": (), "cut": (True, False), "mute": (True,), "deaf": (False,), "half": ()}[self.state]
            return 0 if to_server in closed else len(chunk) or 1

    def pair(self, client):
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(self.server.directory + "/.s.PGSQL.5432")
        except OSError:
            client.close()
            return
        threads = [threading.Thread(target=self.pump, args=(client, server, True, client), daemon=True),
                   threading.Thread(target=self.pump, args=(server, client, False, client), daemon=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        client.close()
        server.close()

    def pump(self, source, target, to_server, pair):
        try:
            while not self.over:
                chunk = source.recv(self.CHUNK)
                rest = chunk or b"\0"
                while rest and not self.over:
                    count = self.passes(pair, to_server, rest)
                    if count and chunk:
                        target.sendall(rest[:count])
                    rest = rest[count:]
                    if rest:
                        time.sleep(0.02)
                if not chunk:
                    break
        except OSError:
            pass
        try:
            target.shutdown(socket.SHUT_RDWR)  # a client that is gone takes its connection along, once that is known
        except OSError:
            pass


class Namespace:
    """A network of its own for one machine, with an address for the server in it. A direction is cut by a wrong address of the link, so that
    packets are lost as they are in a network, without a word."""

    NOWHERE = "02:00:00:00:00:99"

    def __init__(self, number):
        if os.geteuid() != 0 or not shutil.which("ip"):
            raise Skipped("network namespaces need root and ip")
        self.name = "tfy%d-%d" % (os.getpid(), number)
        self.outside, self.inside = "tfa%dn%d" % (os.getpid() % 100000, number), "tfb%dn%d" % (os.getpid() % 100000, number)
        block = (os.getpid() * 4 + number) % 16384 * 4
        self.host, self.guest = ["198.%d.%d.%d" % (18 + (block >> 16), block >> 8 & 255, (block & 255) + n) for n in (1, 2)]

    def start(self):
        try:
            must(["ip", "netns", "add", self.name])
            must(["ip", "link", "add", self.outside, "type", "veth", "peer", "name", self.inside, "netns", self.name])
        except RuntimeError as why:
            self.stop()
            raise Skipped("no network namespace can be made: %s" % why)
        must(["ip", "addr", "add", self.host + "/30", "dev", self.outside])
        must(["ip", "link", "set", self.outside, "up"])
        must(["ip", "-n", self.name, "addr", "add", self.guest + "/30", "dev", self.inside])
        must(["ip", "-n", self.name, "link", "set", self.inside, "up"])
        must(["ip", "-n", self.name, "link", "set", "lo", "up"])

    def stop(self):
        run(["ip", "link", "del", self.outside])
        run(["ip", "netns", "del", self.name])

    def set(self, state):
        to_server = ["ip", "-n", self.name, "neigh"], self.host, self.inside, state in ("cut", "mute")
        to_guest = ["ip", "neigh"], self.guest, self.outside, state in ("cut", "deaf")
        for words, address, device, closed in (to_server, to_guest):
            if closed:
                must(words + ["replace", address, "lladdr", self.NOWHERE, "dev", device, "nud", "permanent"])
            else:
                run(words + ["del", address, "dev", device])

    def close(self):
        self.stop()


# ---- machines ----


def parents():
    """pid → (parent, name), of all processes."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name) as file:
                    text = file.read()
            except OSError:
                continue
            head, _, rest = text.rpartition(")")
            found[int(name)] = int(rest.split()[1]), head.partition("(")[2]
    return found


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


class Machine:
    """A `tfy worker` and all that it starts.

    worker ── runtime ── watcher ── stubs ── tools      wire: a Wire or a Namespace between it and the server, or None
    """

    def __init__(self, name, place, address, wire=None):
        self.name, self.place, self.address, self.wire = name, place, address, wire
        self.process, self.log = None, os.path.join(place, name + ".log")

    def start(self):
        inside = ["ip", "netns", "exec", self.wire.name] if isinstance(self.wire, Namespace) else []
        # A run that waits leaves its process soon.
        environment = dict(os.environ, TFY_DB=self.address, TFY_PARK_AFTER="250")
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                as_user(None, "KILL") + inside + ["tfy", "worker", "chaos.so", "--name", self.name, "--drain", "4s"],
                cwd=self.place, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def lives(self):
        return self.process is not None and self.process.poll() is None

    def sessions(self):
        """How many it has said that it has opened."""
        with open(self.log) as file:
            return file.read().count(" executes the runs of ")

    def below(self, pid, name=None):
        return [child for child, (parent, of) in parents().items() if parent == pid and name in (None, of)]

    def runtime(self):
        return self.below(self.process.pid)[:1]

    def watcher(self):
        return [pid for runtime in self.runtime() for pid in self.below(runtime, "tfy-watcher")]

    def tree(self):
        """The worker first, and all below it."""
        known, found = parents(), [self.process.pid]
        for pid in found:
            found += [child for child, (parent, _) in known.items() if parent == pid]
        return found

    def part(self, what):
        """The processes of a part of it: worker, runtime, watcher, both (of these), machine."""
        return {"worker": lambda: [self.process.pid], "runtime": self.runtime, "watcher": self.watcher,
                "both": lambda: self.runtime() + self.watcher(), "machine": self.tree}[what]()

    def stop_part(self, what):
        """They are stopped, with all that they start meanwhile. Returns them."""
        stopped = self.part(what)
        send(stopped, signal.SIGSTOP)
        while what == "machine":
            more = [pid for pid in self.tree() if pid not in stopped]
            if not more:
                break
            send(more, signal.SIGSTOP)
            stopped += more
        return stopped

    def kill_part(self, what):
        """A machine that dies says nothing about what it had started: everything stops before anything dies."""
        pids = self.stop_part(what) if what in ("machine", "both") else self.part(what)
        send(pids, signal.SIGKILL)
        if what in ("worker", "machine"):
            self.process.wait()
        return pids

    def end(self):
        """In order: its status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def destroy(self):
        if self.lives():
            self.kill_part("machine")
