"""A hostile MCP server on standard input and output.

Its tools: `wait` answers after the seconds of its argument; `late` answers immediately, and sends a log message and a
question after as many seconds; `big` answers with this many bytes; `junk` writes this many lines that are not messages,
and answers.
"""

import json
import sys
import threading
import time

LOCK = threading.Lock()


def send(message):
    with LOCK:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def answer(number, text):
    send({"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": text}]}})


def whisper(text):
    send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "error", "data": f"log {text}"}})
    form = {"type": "object", "properties": {"name": {"type": "string"}}}
    params = {"message": f"question {text}", "requestedSchema": form}
    send({"jsonrpc": "2.0", "id": f"q-{text}", "method": "elicitation/create", "params": params})


def junk(lines, line):
    block = (line + "\n") * 1000
    with LOCK:
        for _ in range(lines // 1000):
            sys.stdout.write(block)
        sys.stdout.flush()


def call(number, name, given):
    if name == "wait":
        threading.Timer(given["seconds"], answer, (number, "waited")).start()
    elif name == "late":
        answer(number, "done")
        threading.Timer(given["seconds"], whisper, (given["text"],)).start()
    elif name == "big":
        answer(number, "x" * given["bytes"])
    else:
        junk(given["lines"], given["line"])
        answer(number, "done")


def serve(message):
    number = message["id"]
    if message["method"] == "initialize":
        result = {
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}, "logging": {}},
            "serverInfo": {"name": "hostile", "version": "1"},
        }
        send({"jsonrpc": "2.0", "id": number, "result": result})
    elif message["method"] == "tools/list":
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("wait", "late", "big", "junk")]
        send({"jsonrpc": "2.0", "id": number, "result": {"tools": tools}})
    elif message["method"] == "tools/call":
        call(number, message["params"]["name"], message["params"]["arguments"])
    elif message["method"] in ("ping", "logging/setLevel"):
        send({"jsonrpc": "2.0", "id": number, "result": {}})
    else:
        send({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "unknown method"}})


for line in sys.stdin:
    message = json.loads(line)
    if "method" in message and "id" in message:
        serve(message)
time.sleep(0.1)
