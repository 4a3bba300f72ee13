"""tfy-gdb.py: gdb on compiled programs: values as the language writes them, and two commands.

    gdb -x tfy-gdb.py ./program        (or `source` it, from ~/.gdbinit too)

    print x                  a TfyObj * shows what it is: "text", [1, 2], {"name": "pear"} …
    tfy locals               the frames of the task that runs here, innermost first, with their variables
    tfy tasks                every task of the process: path, workflow, state, place, what it waits for

Everything is read from the debug information of tfy_program.h and the runtime, and from the program's own tables; nothing is called in the
program. `tfy build --debug` keeps every variable to the end of its scope, in a place of its own.
"""
import re

import gdb

MOST = 50  # elements of a list or map that are shown
NO_FRAME = 0xFFFFFFFF
LIST_DEPTH = 6


def constants(name):
    return {field.name: int(field.enumval) for field in gdb.lookup_type(name).fields()}


# TfyKind of tfy.h, in its order: compilers leave an enum out of the debug information that no variable has.
KINDS = ("nothing bool int float duration time task channel handle string bytes json list map optional record enum error any_error "
         "box").split()


def kind_of(type_):
    number = int(type_["kind"])
    return KINDS[number] if number < len(KINDS) else "?"


def cast(value, name):
    return value.cast(gdb.lookup_type(name).pointer())


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def string_text(obj):
    string = cast(obj, "TfyString")
    length = int(string["byte_len"])
    shown = bytes(gdb.selected_inferior().read_memory(string["bytes"].address, min(length, 200))) if length else b""
    return quoted(shown.decode("utf-8", "replace")) + ("…" if length > 200 else "")


def joined(parts, count, form):
    return form[0] + ", ".join(parts) + (", …" if count > MOST else "") + form[1]


def fields_text(fields, count, values, depth):
    parts = []
    for i in range(int(count)):
        parts.append("%s: %s" % (fields[i]["name"].string(), text_of(fields[i]["type"], values[i], depth + 1)))
    return "{ " + ", ".join(parts) + " }" if parts else "{}"


def object_text(obj, depth=0):
    """A counted object, by its own type."""
    if int(obj) == 0:
        return "null"
    type_ = obj["type"]
    if int(type_) == 0:
        return "(given back)"
    kind = kind_of(type_)
    if kind in ("string", "bytes", "json"):
        return string_text(obj)
    if depth > LIST_DEPTH:
        return "…"
    if kind == "list":
        list_ = cast(obj, "TfyList")
        count = int(list_["len"])
        items = (text_of(type_["elem"], list_["items"][i], depth + 1) for i in range(min(count, MOST)))
        return joined(items, count, "[]")
    if kind == "map":
        map_ = cast(obj, "TfyMap")
        count = int(map_["len"])
        entries = (map_["entries"][i] for i in range(min(count, MOST)))
        items = ("%s: %s" % (text_of(type_["key"], e["key"], depth + 1), text_of(type_["elem"], e["value"], depth + 1))
                 for e in entries)
        return joined(items, count, "{}")
    values = cast(obj, "TfyRecord")["fields"]
    if kind == "enum":
        case = type_["cases"][int(obj["aux"])]
        name = case["name"].string()
        return name + " " + fields_text(case["fields"], case["field_count"], values, depth) if int(case["field_count"]) else name
    if kind == "box":
        return text_of(type_["elem"], values[0], depth)
    name = type_["name"].string() + " " if kind == "error" else ""
    return name + fields_text(type_["fields"], type_["field_count"], values, depth)


def text_of(type_, word, depth=0):
    """A word of a type, as it lies in a slot, a list or a field."""
    kind = kind_of(type_)
    if kind == "bool":
        return "true" if word["b"] else "false"
    if kind == "float":
        return str(float(word["f"]))
    if kind == "nothing":
        return "nothing"
    if type_["scalar"]:
        unit = {"duration": "ms", "time": "ms since 1970"}.get(kind, "")
        return str(int(word["i"])) + unit
    return object_text(word["o"], depth)


class ObjectPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return object_text(self.value)


def find_printer(value):
    type_ = value.type.strip_typedefs().unqualified()
    if type_.code != gdb.TYPE_CODE_PTR:
        return None
    target = type_.target().unqualified()
    return ObjectPrinter(value) if str(target) in ("TfyObj", "struct TfyObj") else None


find_printer.__name__ = "tfy"
gdb.pretty_printers[:] = [printer for printer in gdb.pretty_printers if getattr(printer, "__name__", "") != "tfy"]
gdb.pretty_printers.append(find_printer)


# ---- where the program is ----

GENERATED = re.compile(r"tfyg_(run|part\d+)_")
TEMPORARY = re.compile(r"[ifbovp]\d+$|[AtFECXM]\d*$|frame$|parts$")


def generated_frame():
    """The nearest C frame, outwards, that runs a workflow; None: there is none."""
    frame = gdb.selected_frame()
    while frame is not None:
        if frame.name() and GENERATED.match(frame.name()):
            return frame
        frame = frame.older()
    return None


def running_task():
    """The task whose code is on the C stack: a workflow's, or one that a function of the runtime was given."""
    frame = gdb.selected_frame()
    while frame is not None:
        for name in ("t", "task"):
            try:
                value = frame.read_var(name)
            except ValueError:
                continue
            if str(value.type.unqualified()) in ("TfyTask *", "const TfyTask *") and not value.is_optimized_out:
                return value
        frame = frame.older()
    raise gdb.GdbError("no task runs here; stop in a workflow first, such as with: break FILE.tfy:LINE")


def place(program, line):
    """FILE:LINE of a line that is counted over all files."""
    name, first = program["name"].string(), 1
    for i in range(int(program["module_count"])):
        module = program["modules"][i]
        if int(module["first_line"]) <= line:
            name, first = module["file"].string(), int(module["first_line"])
    return "%s:%d" % (name, line - first + 1)


def stopped_point(frame):
    return frame["workflow"]["resume"][int(frame["pc"]) - 1] if int(frame["pc"]) else None


def frame_at(task, offset):
    return cast(task["stack"] + offset, "TfyFrame")


def say(name, type_, text):
    gdb.write("  %s: %s = %s\n" % (name, type_, text))


def say_slots(frame):
    """What a frame holds that stands at a point: by the point's own table."""
    slots = cast(frame + 1, "TfyValue")
    point = stopped_point(frame)
    if point is None:
        fields, count = frame["workflow"]["params"], int(frame["workflow"]["param_count"])
        for i in range(count):
            say(fields[i]["name"].string(), fields[i]["type"]["name"].string(), text_of(fields[i]["type"], slots[i]))
        return
    for i in range(int(point["live_count"])):
        live = point["live"][i]
        if int(live["name"]):
            say(live["name"].string(), live["type"]["name"].string(), text_of(live["type"], slots[int(live["slot"])]))


def c_text(value):
    """A variable as generated C has it; its C type is all that is known of it."""
    if value.is_optimized_out:
        return "(optimized away)"
    name = str(value.type.strip_typedefs().unqualified())
    if name.endswith("*"):
        return object_text(value)
    return ("true" if value else "false") if name in ("_Bool", "bool") else str(value)


def say_running(c_frame):
    """A frame whose code runs: the members of its struct, and C locals. A slot that several variables share shows all their names."""
    frame = c_frame.read_var("F")
    if frame.is_optimized_out:
        gdb.write("  (optimized away; build the program with: tfy build --debug)\n")
        return
    for field in frame.dereference().type.fields():
        if field.name == "head":
            continue
        if field.name:
            say(field.name, "slot", c_text(frame[field.name]))
        else:
            names = [part.name for part in field.type.fields()]
            say("|".join(names), "slot", c_text(frame[field][names[0]]))
    block = c_frame.block()
    while block is not None and not block.is_static:
        for symbol in block:
            if (symbol.is_variable or symbol.is_argument) and not TEMPORARY.match(symbol.name):
                say(symbol.name, "local", c_text(symbol.value(c_frame)))
        if block.function:
            break
        block = block.superblock


class TfyCommand(gdb.Command):
    """Commands for programs that tfy compiled: tfy locals, tfy tasks."""

    def __init__(self):
        super().__init__("tfy", gdb.COMMAND_DATA, prefix=True)


class TfyLocals(gdb.Command):
    """The frames of the task that runs here, innermost first, with their variables."""

    def __init__(self):
        super().__init__("tfy locals", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        task, c_frame = running_task(), generated_frame()
        program = task["loop"]["program"]
        offset, top = int(task["top"]), True
        while offset != NO_FRAME:
            frame = frame_at(task, offset)
            point = stopped_point(frame)
            line = int(point["line"]) if point is not None else int(frame["workflow"]["line"])
            running = top and c_frame is not None
            where = "%s:%d" % (program["name"].string(), c_frame.find_sal().line) if running else place(program, line)
            gdb.write("%s %s, %s\n" % ("in" if top else "called from", frame["workflow"]["name"].string(), where))
            if running:
                say_running(c_frame)
            else:
                say_slots(frame)
            offset, top = int(frame["prev"]), False


class TfyTasks(gdb.Command):
    """Every task of the process that is whole in memory: path, workflow, state, place, what it waits for."""

    def __init__(self):
        super().__init__("tfy tasks", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        running = running_task()
        loop = running["loop"]
        states = {value: key for key, value in constants("TfyTaskState").items()}
        run = loop["runs"]["first"]
        while int(run):
            gdb.write("run %s\n" % run["uuid"].string())
            tasks, rest = [], run["tasks"]
            while int(rest):
                tasks.append(rest)
                rest = rest["next_in_run"]
            for rest in reversed(tasks):
                self.say_task(loop, rest, states, running)
            run = run["next"]

    @staticmethod
    def say_task(loop, rest, states, running):
        task = rest["task"]
        number = int(task["state"]) & 0xFF if int(task) else int(rest["end_state"])
        state = states.get(number, "?").replace("TFY_TASK_", "").lower().replace("_", " ")
        if int(task) and task == running:
            state = "running"  # one that only yields keeps the state it had in the queue
        text = "  %-8s %-18s" % (rest["log"]["path"].string(), state)
        if int(task) and int(task["top"]) != NO_FRAME:
            frame = frame_at(task, int(task["top"]))
            point = stopped_point(frame)
            line = int(point["line"]) if point is not None else int(frame["workflow"]["line"])
            text += " %s, %s" % (frame["workflow"]["name"].string(), place(loop["program"], line))
        else:
            text += " " + rest["workflow"]["name"].string()
        if int(rest["step"]):
            text += ": " + rest["step"]["call"]["site"]["tool"]["name"].string()
        gdb.write(text + "\n")


TfyCommand()
TfyLocals()
TfyTasks()
