# on_terminal.py COMMAND...: runs it on a terminal of its own, types the lines of $TYPED, one for each "> " that it asks with, and writes what the
# terminal received to standard output. Ends as the command did.
import os, pty, sys

typed = [line + "\n" for line in os.environ.get("TYPED", "").split("\n") if line]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
screen, asked = b"", 0
while True:
    try:
        got = os.read(terminal, 65536)
    except OSError:  # nobody has it open any more
        break
    if not got:
        break
    screen += got
    while asked < min(len(typed), screen.count(b") > ")):
        os.write(terminal, typed[asked].encode())
        asked += 1
sys.stdout.buffer.write(screen)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
