"""The ledger check of tests/cluster/chaos.py: what must hold between the database, a ledger that tools wrote outside it, and what people
were told. `check` is a function of these three alone, so that it can be given forged ones: `python3 chaos_check.py` does that, and expects
every kind of violation to be found. The last line is "N passed, N failed".

The kinds of violations:

  alive    a tool of an older owner of a run worked behind the beginning of a newer one's (docs/cluster.md, "What is promised")
  late     a tool worked when the session that had started it had been ended
  early    a tool began before the database knew its owner
  twice    a `once` step began again, and neither its probe nor a person had said so
  result   a recorded result is not one that the ledger gave to this owner for this step
  hole     the records of a run are not numbered 1, 2, 3 …
  chain    a record does not follow the one that it names, or was changed
  owner    a record is not its owner's: no Claimed in front of it, owners that are not newer ones, or later than the end of its session
  ended    a run has not ended, or not well, or has records behind its end
  start    a start that was acknowledged is not there once, or a run is there that nobody started
  signal   the same of signals; or the run heard something else than was recorded
  answer   the same of answers to questions
  row      the rows that `save` wrote are not those that records say
"""
import collections, json, os, re, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
import read_log

# Types of records, as runtime/wal/rows/record.h numbers them.
START, STEP, RESULT, COMPLETE, SPAWN, VALUE = 1, 3, 4, 7, 10, 17
APPROVAL, SIGNAL, DOUBT, RESOLVED, SNAPSHOT, CLAIMED = 23, 24, 30, 31, 33, 40

COMPLETED = 12  # a run's state
SLACK_MS = 5    # the server rounds times
WORD = re.compile(r"w[0-9a-f]{16}")

Line = collections.namedtuple("Line", "word key fence kind ms pid text")


def read_ledger(path):
    """The lines of a ledger, in the order in which things happened."""
    lines = []
    if os.path.exists(path):
        with open(path) as file:
            for text in file:
                if not text.endswith("\n"):
                    continue  # it is being written
                word, key, fence, kind, ms, pid, rest = text.rstrip("\n").split("\t")
                lines.append(Line(word, key, int(fence), kind, int(ms), int(pid), rest))
    return lines


class Found:
    """What the database has.

    runs: id → {"uuid", "state", "claims", "lsn", "held"}       records: id of a run → its records, in order
    paths: (run, task) → path                                     sessions: id → {"state", "ended", "why", …}
    rows: {(uuid, path, step)}, of the table that chaos.tfy saves
    """

    def __init__(self):
        self.runs, self.records, self.paths, self.sessions, self.rows = {}, {}, {}, {}, set()


class Told:
    """What people did, and what they were told.

    starts: {"uuid" or None, "id" or None, "acked", "words": how many words its result has}
    signals: {"run": uuid, "id", "value", "acked"}     answers: {"run": uuid, "task": path, "step", "value", "acked"}
    """

    def __init__(self):
        self.starts, self.signals, self.answers = [], [], []


class Stretch:
    """The records of one owner of a run."""

    def __init__(self, record=None):
        payload = json.loads(record["payload"]) if record else {}
        self.session, self.claims = payload.get("session"), payload.get("claims", 0)


class Check:
    def __init__(self, found, ledger, told):
        self.found, self.ledger, self.told = found, ledger, told
        self.wrong = []
        self.figures = collections.Counter()
        self.ids = {run["uuid"]: number for number, run in found.runs.items()}
        self.owners = {}                              # (uuid, claims) → session
        self.said = collections.Counter()             # key → how often it was said that a step is to begin again
        self.ends = collections.defaultdict(dict)     # key → word of an end → fence
        for line in ledger:
            if line.word == "end":
                self.ends[line.key][line.text] = line.fence

    def note(self, kind, text):
        self.wrong.append((kind, text))

    # ---- the records of a run ----

    def key_of(self, number, record):
        run = self.found.runs[number]
        return "%s/%s/%d" % (run["uuid"], self.found.paths.get((number, record["task"]), "?"), record["step"])

    def check_chain(self, number, records):
        """Each record follows the newest one of its task; a child's first one follows the TaskSpawn, and begins with its path."""
        uuid = bytes.fromhex(self.found.runs[number]["uuid"].replace("-", ""))
        heads = {}  # task → (lsn, chain)
        for at, record in enumerate(records):
            where = "run %d, record %d" % (number, record["lsn"])
            if record["lsn"] != at + 1:
                self.note("hole", "%s stands in place %d" % (where, at + 1))
                return
            path = self.found.paths.get((number, record["task"]))
            if path is None:
                self.note("chain", where + " is of a task that has no row")
                return
            seed = read_log.xxh3(path.encode(), read_log.xxh3(uuid))
            before, chain = heads.get(record["task"], (None, seed))
            born = record["prev"] == 0 if at == 0 else record["prev"] and records[record["prev"] - 1]["type"] == SPAWN
            if record["prev"] != before if before else not born:
                self.note("chain", "%s says that it follows %d, and %s is the newest" % (where, record["prev"], before))
            payload = dict(record, payload=record["payload"].encode())
            if read_log.chain_of(chain, payload) != read_log.unsigned(record["chain"]):
                self.note("chain", where + " was changed")
            heads[record["task"]] = record["lsn"], read_log.unsigned(record["chain"])

    def enter(self, number, stretch, record, last):
        """A new owner."""
        new, where = Stretch(record), "run %d, record %d" % (number, record["lsn"])
        session = self.found.sessions.get(new.session)
        if new.claims <= stretch.claims:
            self.note("owner", "%s: owner %d comes behind owner %d" % (where, new.claims, stretch.claims))
        if new.claims > self.found.runs[number]["claims"]:
            self.note("owner", "%s: its row knows of %d owners only" % (where, self.found.runs[number]["claims"]))
        if not session:
            self.note("owner", "%s: there is no session %s" % (where, new.session))
        self.owners[self.found.runs[number]["uuid"], new.claims] = new.session
        self.figures["claims"] += 1
        # A session that lets a run go writes a snapshot first.
        if stretch.session and last["type"] != SNAPSHOT and new.session != stretch.session:
            self.figures["takeovers"] += 1
        return new

    def check_result(self, number, stretch, record, value):
        key = self.key_of(number, record)
        if value.get("error"):
            self.figures["errors"] += 1
            return
        fence = self.ends[key].get(value.get("value"))
        if fence is None:
            self.note("result", "%s: the ledger has no end of it with %s" % (key, value.get("value")))
        elif fence != stretch.claims:
            self.note("result", "%s: owner %d recorded what owner %d had done" % (key, stretch.claims, fence))

    def check_resolved(self, number, record, value):
        key = self.key_of(number, record)
        self.figures["resolved by " + ("the probe" if value.get("by") == "probe" else "a person")] += 1
        if value["how"] == "retry":
            self.said[key] += 1
        elif value["how"] == "done" and value.get("value") not in self.ends[key]:
            self.note("result", "%s: the ledger has no end of it with %s, which was said" % (key, value.get("value")))

    def check_records(self, number, records):
        stretch, last, ends = Stretch(), None, 0
        for record in records:
            kind, value = record["type"], json.loads(record["payload"])
            session = self.found.sessions.get(stretch.session) or {}
            if ends:
                self.note("ended", "run %d has record %d behind its end" % (number, record["lsn"]))
            if kind == CLAIMED:
                stretch = self.enter(number, stretch, record, last or {"type": 0})
                session = self.found.sessions.get(stretch.session) or {}
            elif not stretch.session and record["lsn"] > 1:
                self.note("owner", "run %d, record %d has no owner" % (number, record["lsn"]))
            if session.get("ended") and record["ts"] > session["ended"] + SLACK_MS:
                self.note("owner", "run %d, record %d is %d ms behind the end of session %d" % (
                    number, record["lsn"], record["ts"] - session["ended"], stretch.session))
            if kind == RESULT:
                self.check_result(number, stretch, record, value)
            elif kind == RESOLVED:
                self.check_resolved(number, record, value)
            elif kind == COMPLETE:
                ends += 1
            last = record
        return ends

    def check_run(self, number, run):
        records = self.found.records.get(number, [])
        self.check_chain(number, records)
        ends = self.check_records(number, records)
        if run["lsn"] and len(records) < run["lsn"]:
            self.note("hole", "run %d has %d records, and its row says %d" % (number, len(records), run["lsn"]))
        if run["state"] != COMPLETED or ends != 1 or run["held"]:
            newest = records[-1] if records else {"type": 0, "payload": ""}
            self.note("ended", "run %d (%s) is in state %d, with %d ends%s; its newest record: %d %.200s" % (
                number, run["uuid"], run["state"], ends, ", held: " + run["held"] if run["held"] else "", newest["type"], newest["payload"]))

    # ---- the ledger ----

    def check_ledger(self):
        newest, begun = {}, collections.Counter()
        for line in self.ledger:
            run = line.key.split("/")[0]
            where = "%s of %s, owner %d" % (line.word, line.key, line.fence)
            if run not in self.ids:
                self.note("start", where + ": the database does not know its run")
                continue
            if line.fence < newest.get(run, 0):
                self.note("alive", "%s, at %d: owner %d had begun" % (where, line.ms, newest[run]))
            if line.word in ("begin", "asked"):
                newest[run] = max(newest.get(run, 0), line.fence)
            if line.word == "begin":
                begun[line.key] += 1
                self.figures["tools"] += 1
                if line.kind in ("once", "posted") and begun[line.key] > 1 + self.said[line.key]:
                    self.note("twice", "%s: it began %d times, and that was said %d times" % (where, begun[line.key], self.said[line.key]))
            session = self.owners.get((run, line.fence))
            if session is None:
                self.note("early", where + ": no record says who that is")
            ended = (self.found.sessions.get(session) or {}).get("ended")
            if ended and line.ms > ended + SLACK_MS:
                self.note("late", "%s: session %d had ended %d ms before" % (where, session, line.ms - ended))

    # ---- what people were told ----

    def payloads(self, kind):
        """(uuid, record, payload) of all records of a type."""
        for number, records in self.found.records.items():
            for record in records:
                if record["type"] == kind:
                    yield self.found.runs[number]["uuid"], record, json.loads(record["payload"])

    def check_starts(self):
        named = collections.Counter(value.get("id") for _, _, value in self.payloads(START))
        claimed = set()
        lost = 0  # of which nobody heard, and that have no name to ask for
        for start in self.told.starts:
            count = named[start["id"]] if start["id"] else int(start["uuid"] in self.ids)
            if start["acked"] and count != 1:
                self.note("start", "the start %s was acknowledged, and is there %d times" % (start["id"] or start["uuid"], count))
            if count > 1:
                self.note("start", "the start %s is there %d times" % (start["id"], count))
            if start["uuid"] and start["uuid"] in claimed:
                self.note("start", "two starts were told that they are run %s" % start["uuid"])
            if start["uuid"] and start["uuid"] not in self.ids:
                self.note("start", "run %s was acknowledged, and is not there" % start["uuid"])
            claimed.add(start["uuid"])
            lost += not start["acked"] and not start["id"]
        names = {start["id"] for start in self.told.starts if start["id"]}
        unknown = [uuid for uuid, _, value in self.payloads(START) if uuid not in claimed and value.get("id") not in names]
        if len(unknown) > lost:
            self.note("start", "nobody started %s" % ", ".join(unknown))

    def check_words(self):
        """Each result is made of what its steps came to."""
        wanted = {start["uuid"]: start["words"] for start in self.told.starts if start["uuid"]}
        for uuid, _, value in self.payloads(COMPLETE):
            words = WORD.findall(json.dumps(value.get("value")))
            run = self.ids[uuid]
            known = {json.loads(record["payload"]).get("value") for record in self.found.records[run] if record["type"] in (RESULT, RESOLVED)}
            if [word for word in words if word not in known] or len(words) != wanted.get(uuid, len(words)):
                self.note("result", "run %s came to %s, and its steps to %s" % (uuid, words, sorted(map(str, known))))

    def check_signals(self):
        sent = {(signal["run"], signal["id"]): signal for signal in self.told.signals}
        there, order = collections.Counter(), collections.defaultdict(list)
        for uuid, record, value in self.payloads(SIGNAL):
            key = uuid, value.get("id")
            there[key] += 1
            order[uuid].append(value.get("value"))
            if key not in sent or sent[key]["value"] != value.get("value"):
                self.note("signal", "run %s has the signal %s, which nobody sent" % (uuid, value))
        for key, signal in sent.items():
            if there[key] > 1 or (signal["acked"] and not there[key]):
                self.note("signal", "signal %s of run %s is there %d times%s" % (
                    key[1], key[0], there[key], ", and was acknowledged" if signal["acked"] else ""))
        for uuid, _, value in self.payloads(COMPLETE):
            heard = value.get("value")
            if uuid in order and isinstance(heard, list) and heard[:-1] != order[uuid][:len(heard) - 1]:
                self.note("signal", "run %s heard %s, and was sent %s" % (uuid, heard[:-1], order[uuid]))

    def check_answers(self):
        given = {(answer["run"], answer["task"], answer["step"]): answer for answer in self.told.answers}
        there = collections.Counter()
        for uuid, record, value in self.payloads(APPROVAL):
            key = uuid, self.found.paths.get((self.ids[uuid], record["task"])), record["step"]
            there[key] += 1
            if key not in given or given[key]["value"] != value.get("answer"):
                self.note("answer", "question %s has the answer %s, which nobody gave" % ("/".join(map(str, key)), value.get("answer")))
        for key, answer in given.items():
            if there[key] > 1 or (answer["acked"] and not there[key]):
                self.note("answer", "the answer to %s is there %d times" % ("/".join(map(str, key)), there[key]))

    def check_rows(self):
        said = set()
        for uuid, record, value in self.payloads(VALUE):
            if "save" in value:
                said.add((uuid, self.found.paths.get((self.ids[uuid], record["task"])), record["step"]))
        for row in said ^ self.found.rows:
            self.note("row", "%s is a %s only" % ("/".join(map(str, row)), "record" if row in said else "row"))

    def all(self):
        for number, run in sorted(self.found.runs.items()):
            self.check_run(number, run)
        self.check_ledger()
        self.check_starts()
        self.check_words()
        self.check_signals()
        self.check_answers()
        self.check_rows()
        self.figures["runs"] = len(self.found.runs)
        self.figures["records"] = sum(map(len, self.found.records.values()))
        for session in self.found.sessions.values():
            why = session.get("why") or ""
            self.figures["silent sessions"] += why.startswith("it committed nothing")
            self.figures["killed sessions"] += why == "its process was killed"
        return self.wrong, self.figures


def check(found, ledger, told):
    """([(kind, text)], figures): every violation."""
    return Check(found, ledger, told).all()


# ---- forged histories ----


class Forged:
    """Two runs that are as they should be: one was taken over in the middle of a `once` step and of a loop, and one heard a signal and was given an
    answer. Tests change something, and `check` must say so."""

    def __init__(self):
        self.found, self.ledger, self.told = Found(), [], Told()
        found = self.found
        found.sessions = {1: {"ended": 2000, "why": "it committed nothing for 3300 ms"}, 2: {"ended": None, "why": None}}
        self.a = self.run(1, "aaaaaaaa-0000-7000-8000-000000000001", 2)
        self.b = self.run(2, "bbbbbbbb-0000-7000-8000-000000000002", 1)
        w = ["w%016x" % n for n in range(8)]
        self.add(1, START, 1000, {"id": "first"})
        self.claim(1, 1, 1, 1010)
        self.tool("pure", self.a, 1, 1, 1020, w[0])
        self.add(1, RESULT, 1040, {"tool": "look", "value": w[0]}, step=1)
        self.add(1, STEP, 1050, {"tool": "post"}, step=2)
        self.line("begin", self.a + "/1/2", 1, "posted", 1060)
        self.line("alive", self.a + "/1/2", 1, "posted", 1070)
        self.claim(1, 2, 2, 3000)
        self.line("asked", self.a + "/1/2", 2, "probe", 3010, "null")
        self.add(1, RESOLVED, 3020, {"how": "retry", "by": "probe"}, step=2)
        self.tool("posted", self.a, 2, 2, 3030, w[1])
        self.add(1, RESULT, 3050, {"tool": "post", "value": w[1]}, step=2)
        self.add(1, VALUE, 3060, {"save": "rows", "row": {}}, step=3)
        found.rows.add((self.a, "1", 3))
        self.add(1, COMPLETE, 3100, {"ok": True, "value": [w[0], w[1]]}, step=3)
        self.add(2, START, 1500, {})
        self.claim(2, 2, 1, 1510)
        self.add(2, SIGNAL, 1520, {"name": "go", "id": "s1", "value": "hello"})
        self.add(2, APPROVAL, 1530, {"answer": "ann"}, step=2)
        self.tool("once", self.b, 3, 1, 1540, w[2])
        self.add(2, RESULT, 1560, {"tool": "pay", "value": w[2]}, step=3)
        self.add(2, COMPLETE, 1600, {"ok": True, "value": ["hello", w[2]]}, step=3)
        self.told.starts = [{"uuid": self.a, "id": "first", "acked": True, "words": 2},
                            {"uuid": self.b, "id": None, "acked": True, "words": 1}]
        self.told.signals = [{"run": self.b, "id": "s1", "value": "hello", "acked": True}]
        self.told.answers = [{"run": self.b, "task": "1", "step": 2, "value": "ann", "acked": True}]
        self.words = w

    def run(self, number, uuid, claims):
        self.found.runs[number] = {"uuid": uuid, "state": COMPLETED, "claims": claims, "lsn": 0, "held": None}
        self.found.paths[number, 1] = "1"
        self.found.records[number] = []
        return uuid

    def add(self, number, kind, ts, payload, step=0):
        """A record behind all others, with its chain."""
        records = self.found.records[number]
        records.append({"lsn": len(records) + 1, "prev": len(records), "task": 1, "type": kind, "v": 1, "step": step, "point": 0, "ts": ts,
                        "payload": json.dumps(payload)})
        self.seal(number)

    def seal(self, number):
        """Gives all records the chains that they should have."""
        uuid = bytes.fromhex(self.found.runs[number]["uuid"].replace("-", ""))
        chain = read_log.xxh3(b"1", read_log.xxh3(uuid))
        for record in self.found.records[number]:
            chain = read_log.chain_of(chain, dict(record, payload=record["payload"].encode()))
            record["chain"] = chain
        self.found.runs[number]["lsn"] = len(self.found.records[number])

    def claim(self, number, session, claims, ts):
        self.add(number, CLAIMED, ts, {"session": session, "worker": "w", "claims": claims})

    def line(self, word, key, fence, kind, ms, text="-", at=None):
        self.ledger.insert(len(self.ledger) if at is None else at, Line(word, key, fence, kind, ms, 2, text))

    def tool(self, kind, uuid, step, fence, ms, word):
        key = "%s/1/%d" % (uuid, step)
        for name, text in (("begin", "-"), ("alive", "-"), ("end", word)):
            self.line(name, key, fence, kind, ms, text)

    def drop(self, number, at):
        """A record that was never there: the others are numbered without it."""
        del self.found.records[number][at]
        for lsn, record in enumerate(self.found.records[number]):
            record["lsn"], record["prev"] = lsn + 1, lsn
        self.seal(number)

    def of_type(self, number, kind):
        return next(at for at, record in enumerate(self.found.records[number]) if record["type"] == kind)

    def change(self, number, kind, **members):
        record = self.found.records[number][self.of_type(number, kind)]
        record["payload"] = json.dumps(dict(json.loads(record["payload"]), **members))
        self.seal(number)


def spoil_ts(forged):
    forged.found.records[1][3]["ts"] = 2500
    forged.seal(1)


def again(forged):
    """Everything that the second owner did, once more as its own third claim does, with nobody having said so."""
    forged.found.runs[1]["claims"] = 3
    del forged.found.records[1][forged.of_type(1, COMPLETE)]
    forged.claim(1, 2, 3, 3110)
    forged.tool("posted", forged.a, 2, 3, 3120, forged.words[5])
    forged.add(1, COMPLETE, 3150, {"ok": True, "value": forged.words[:2]}, step=3)


def hole(forged):
    del forged.found.records[1][3]


def prev(forged):
    forged.found.records[1][4]["prev"] = 3


def orphan(forged):
    """A child's first record that does not follow the TaskSpawn."""
    forged.found.paths[1, 2] = "1.1"
    forged.add(1, VALUE, 3090, {"now": 1}, step=1)
    forged.found.records[1][-1]["task"] = 2


def letter(forged):
    record = forged.found.records[1][forged.of_type(1, RESULT)]
    record["payload"] = record["payload"].replace("look", "book")


def two_signals(forged):
    forged.drop(2, forged.of_type(2, COMPLETE))
    forged.add(2, SIGNAL, 1590, {"name": "go", "id": "s1", "value": "hello"})
    forged.add(2, COMPLETE, 1600, {"ok": True, "value": ["hello", forged.words[2]]}, step=3)


def two_answers(forged):
    forged.drop(2, forged.of_type(2, COMPLETE))
    forged.add(2, APPROVAL, 1590, {"answer": "ann"}, step=2)
    forged.add(2, COMPLETE, 1600, {"ok": True, "value": ["hello", forged.words[2]]}, step=3)


def unfinished(forged):
    forged.drop(1, forged.of_type(1, COMPLETE))
    forged.found.runs[1]["state"] = 1


# What is changed, and what must be found.
FORGERIES = [
    ("an older owner's tool lives behind a newer one's beginning", "alive",
     lambda f: f.line("alive", f.a + "/1/2", 1, "posted", 1900)),
    ("... and behind a newer one's probe", "alive",
     lambda f: f.line("end", f.a + "/1/2", 1, "posted", 1900, f.words[6], at=len([l for l in f.ledger if l.ms <= 3010]))),
    ("a tool lives behind the end of its session", "late", lambda f: f.line("alive", f.a + "/1/1", 1, "pure", 2100, at=2)),
    ("a tool begins that no owner has", "early", lambda f: f.line("begin", f.a + "/1/9", 7, "pure", 3200)),
    ("a once step begins twice", "twice", lambda f: f.line("begin", f.b + "/1/3", 1, "once", 1545)),
    ("... and by a later owner, with a probe", "twice", again),
    ("... and the probe's word is not in the log", "twice", lambda f: f.drop(1, f.of_type(1, RESOLVED))),
    ("a result comes from nowhere", "result", lambda f: f.change(2, RESULT, value="w00000000000000aa")),
    ("a result is another step's", "result", lambda f: f.change(2, RESULT, value=f.words[1])),
    ("a result is a former owner's", "result",
     lambda f: f.ledger.__setitem__(slice(None), [l._replace(fence=1) if l.text == f.words[1] else l for l in f.ledger])),
    ("somebody says a word that no tool gave", "result",
     lambda f: f.change(1, RESOLVED, how="done", value="w00000000000000aa", by="a person")),
    ("a run comes to something else than its steps", "result", lambda f: f.change(1, COMPLETE, value=[f.words[0], "w00000000000000aa"])),
    ("... or to less", "result", lambda f: f.change(1, COMPLETE, value=[f.words[0]])),
    ("a record is missing", "hole", hole),
    ("the newest record is missing", "hole", lambda f: f.found.records[2].pop()),
    ("a record follows another one", "chain", prev),
    ("a child's first record does not follow its birth", "chain", orphan),
    ("a letter of a record was changed", "chain", letter),
    ("a record was written behind the end of its session", "owner", spoil_ts),
    ("an owner's Claimed is missing", "owner", lambda f: f.drop(2, f.of_type(2, CLAIMED))),
    ("owners are in the wrong order", "owner", lambda f: f.change(1, CLAIMED, claims=2)),
    ("an owner is a session that never was", "owner", lambda f: f.change(1, CLAIMED, session=9)),
    ("a run has more owners than its row counts", "owner", lambda f: f.found.runs[1].update(claims=1)),
    ("a run does not end", "ended", unfinished),
    ("a run fails", "ended", lambda f: f.found.runs[1].update(state=13)),
    ("a run is held", "ended", lambda f: f.found.runs[1].update(held="damaged")),
    ("a run goes on behind its end", "ended", lambda f: f.add(1, VALUE, 3200, {"now": 1}, step=4)),
    ("a start that was acknowledged is not there", "start",
     lambda f: f.told.starts.append({"uuid": "cccccccc-0000-7000-8000-000000000003", "id": None, "acked": True, "words": 0})),
    ("... under its name", "start", lambda f: f.told.starts.append({"uuid": None, "id": "other", "acked": True, "words": 0})),
    ("a name is two runs", "start", lambda f: f.change(2, START, id="first")),
    ("nobody started a run", "start", lambda f: f.told.starts.pop()),
    ("a tool of a run that nobody knows", "start", lambda f: f.line("begin", "dddddddd/1/1", 1, "pure", 1100)),
    ("a signal that was acknowledged is not there", "signal", lambda f: f.drop(2, f.of_type(2, SIGNAL))),
    ("a signal is there twice", "signal", two_signals),
    ("a signal is another one", "signal", lambda f: f.change(2, SIGNAL, value="other")),
    ("a run hears what was not sent", "signal", lambda f: f.change(2, COMPLETE, value=["other", f.words[2]])),
    ("an answer that was acknowledged is not there", "answer", lambda f: f.drop(2, f.of_type(2, APPROVAL))),
    ("an answer is there twice", "answer", two_answers),
    ("an answer is another one", "answer", lambda f: f.change(2, APPROVAL, answer="bob")),
    ("a saved row is missing", "row", lambda f: f.found.rows.clear()),
    ("a saved row has no record", "row", lambda f: f.found.rows.add((f.a, "1", 7))),
]


def self_test():
    """[(name, found as it must be)]"""
    good, figures = check(Forged().found, Forged().ledger, Forged().told)
    results = [("the check finds nothing where nothing is wrong", not good, good),
               ("... and counts what was taken over", figures["takeovers"] == 1 and figures["silent sessions"] == 1, figures)]
    for name, kind, spoil in FORGERIES:
        forged = Forged()
        spoil(forged)
        wrong, _ = check(forged.found, forged.ledger, forged.told)
        results.append(("the check finds: " + name, kind in [found for found, _ in wrong], wrong))
    return results


def main():
    failed = 0
    results = self_test()
    for name, fine, why in results:
        print("%s %s" % ("ok" if fine else "not ok", name))
        if not fine:
            failed += 1
            print("   ", why)
    print("%d passed, %d failed" % (len(results) - failed, failed))
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
