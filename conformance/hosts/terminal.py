"""Runs a command in its own terminal, closes the terminal when a text appears, and prints the exit status.

Usage: terminal.py TEXT COMMAND...
"""

import os
import pty
import sys

text, command = sys.argv[1].encode(), sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
seen = b""
while text not in seen:
    seen += os.read(terminal, 4096)
os.close(terminal)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
