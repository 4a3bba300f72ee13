"""asyncio_tasks.py TASKS YIELDS: the same with asyncio. Prints the CPU seconds that it took until all had ended."""
import asyncio
import sys
import time


async def spin(count):
    for _ in range(count):
        await asyncio.sleep(0)


async def run_all(tasks, yields):
    waiting = [asyncio.create_task(spin(yields)) for _ in range(tasks)]
    begin = time.process_time()
    await asyncio.gather(*waiting)
    return time.process_time() - begin


tasks, yields = map(int, sys.argv[1:])
print(asyncio.run(run_all(tasks, yields)))
