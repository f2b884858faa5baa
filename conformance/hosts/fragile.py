"""A host that will be killed: starts an MCP server on pipes, calls one tool again and again, and never says goodbye.

Usage: fragile.py COMMAND [ARG...]        Prints the server's process id, then one line for every answered call.
"""
import json
import subprocess
import sys

server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
print(server.pid, flush=True)


def ask(number, method, params):
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    server.stdin.write(json.dumps(request).encode() + b"\n")
    server.stdin.flush()
    while True:
        line = server.stdout.readline()
        if not line:
            sys.exit("the server left")
        if json.loads(line).get("id") == number:
            return


client = {"name": "fragile", "version": "1"}
ask(0, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
server.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
number = 0
while True:
    number += 1
    ask(number, "tools/call", {"name": "sleep_ms", "arguments": {"ms": 20}})
    print(number, flush=True)
