"""Finds forms in messages and documents that docs and messages of this project avoid, one line for each.

Usage: plain_english.py DIRECTORY. What it reads: README.md, docs/*.md, and every string in the C sources, lexer and grammar of
runtime, dsl and codegen. A form is banned where it is a habit that reads badly ("is no duration" for "is not a duration"), not
where it is one of several good ways to say a thing."""
import glob
import re
import sys

BANNED = [
    (r"(?<!there )(?<!There )\b(is|are) no (?!longer\b|more\b|later\b|earlier\b|greater\b|other\b)", 'say "is not a …"'),
    (r"\bbelongs? into\b", 'say "belongs in"'),
    (r"manieth", 'say "the ordinal" or "the number of"'),
    (r"\bas of now\b", 'say "as it is now"'),
    (r"\b(is|are) to be\b", 'say "must be"'),
    (r"\b[Ww]hoever\b", 'say "the process that", "the caller"'),
    (r"\b(takes?|taken|taking) up\b(?! to\b)", 'say "resume"'),
    (r"\b(lets?|letting) go of\b", 'say "release"'),
    (r"\b(gives?|given) back\b", 'say "release", "return"'),
    (r"\blies? (in|at|on|beside|behind|there|between)\b", 'say "is", "is stored"'),
    (r"\bstands? (in|at|on|beside|behind|there|only)\b", 'say "is", "is allowed only"'),
    (r"\b[Ww]hat (is|was|has|were) \w+ is kept\b", 'say "every recorded step is kept"'),
    (r"\b(go|goes|going|went) on( (with|in|from|behind|at)\b|[.,;:]|$)", 'say "continue"'),
    (r"\b(waits?|runs?) on[.,;]", 'say "keeps waiting"'),
    (r"\b(starts?|stops?|ends?) now (at|in|with)\b", 'say "now starts at"'),
    (r"\b([Rr]ecords?|those) behind\b", 'say "records after it" or "records that it depends on"'),
    (r"\bbehind (RUN|--|this one|the (import|snapshot|last|first|mark|record)\b)", 'say "after"'),
    (r"\b(warns?|tells?) of\b", 'say "warns about", "reports"'),
    (r"\bhears? so\b", 'say "gets a message"'),
    (r"\b(takes?|taken) over (the|a|one|this) run\b|\btakes? (the|a|one|this) run over\b", 'say "moves the run"'),
    (r"\bfor long($|[.,;:])", 'say "for a long time"'),
    (r"(^(- )?|[.;:] )(Checked|Compared|Counted|Held|Kept|Recorded|Refused|Written) (are|is)\b", "start with the subject"),
    (r"(^(- )?|\. )What (is|was|were|has|have) [^?.:;]{1,80} (is|are|was|were|does|counts?)\b", "start with the subject"),
    (r"\bhad begun\b", 'say "had started"'),
    (r"(^|[.;:] )Who (finds|sees|wants|has|is) \w+", 'start with the subject: "the caller", "a process that"'),
]
STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"((?:\\.|[^"\\\n])*)"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def strings(path):
    """(line, text): neighbouring strings are one, since a sentence may be cut anywhere."""
    text = open(path, encoding="utf-8").read()
    joined, line, end = "", 0, 0
    for found in STRING.finditer(text):
        if found.group(1) is None:
            continue
        if joined and text[end:found.start()].strip():
            yield line, joined
            joined = ""
        if not joined:
            line = text.count("\n", 0, found.start()) + 1
        joined += found.group(1)
        end = found.end()
    if joined:
        yield line, joined


def paragraphs(path):
    """(line, text) without fenced blocks, which show what programs print."""
    lines, start, fenced = [], 0, False
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        if line.startswith("```"):
            fenced = not fenced
        if fenced or not line.strip() or line.startswith("```"):
            if lines:
                yield start, " ".join(lines)
            lines = []
            continue
        start = start if lines else number
        lines.append(line.strip())
    if lines:
        yield start, " ".join(lines)


def main(top):
    sources = [f"{top}/{room}/**/*.{end}" for room in ("runtime", "dsl", "codegen") for end in ("c", "h", "re", "y")]
    places = [(path, paragraphs) for path in [f"{top}/README.md"] + sorted(glob.glob(f"{top}/docs/*.md"))]
    places += [(path, strings) for pattern in sources for path in sorted(glob.glob(pattern, recursive=True))]
    for path, texts in places:
        for line, text in texts(path):
            for form, instead in BANNED:
                found = re.search(form, text)
                if found:
                    around = text[max(0, found.start() - 30) : found.end() + 30]
                    print(f"{path[len(top) + 1:]}:{line}: {around!r}: {instead}")
    print(len(places), file=sys.stderr)


main(sys.argv[1])
