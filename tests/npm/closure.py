"""closure.py NODE_MODULES TO PACKAGE…: hard links of packages and of all that they need, as a directory of their own."""
import json
import os
import subprocess
import sys

modules, to, wanted = sys.argv[1], sys.argv[2], sys.argv[3:]
taken = set()
while wanted:
    name = wanted.pop()
    home = os.path.join(modules, name)
    if name in taken or not os.path.isdir(home):
        continue
    taken.add(name)
    os.makedirs(os.path.dirname(os.path.join(to, name)), exist_ok=True)
    subprocess.run(["cp", "-al", home, os.path.join(to, name)], check=True)
    with open(os.path.join(home, "package.json")) as file:
        package = json.load(file)
    wanted += package.get("dependencies", {})
    programs = package.get("bin", {})
    for word, path in programs.items() if isinstance(programs, dict) else [(name.split("/")[-1], programs)]:
        os.makedirs(os.path.join(to, ".bin"), exist_ok=True)
        os.symlink(os.path.join("..", name, path), os.path.join(to, ".bin", word))
