"""generators.py TASKS YIELDS: a scheduler of generators as one writes it in Python: a queue, whoever yields goes to its end. Prints the CPU
seconds that it took until all had ended."""
import sys
import time
from collections import deque


def spin(count):
    for _ in range(count):
        yield


def run_all(ready):
    while ready:
        task = ready.popleft()
        try:
            next(task)
        except StopIteration:
            continue
        ready.append(task)


tasks, yields = map(int, sys.argv[1:])
ready = deque(spin(yields) for _ in range(tasks))
begin = time.process_time()
run_all(ready)
print(time.process_time() - begin)
