"""Programs under attack: `pmcp` with all that it starts, its memory watched, and the clients that attack it."""

import contextlib
import json
import os
import pathlib
import queue
import re
import signal
import socket
import subprocess
import threading
import time
import uuid

MIB = 1 << 20

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "hostile", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def request(number, method, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def call(number, tool, **arguments):
    return request(number, "tools/call", name=tool, arguments=arguments)


class Build:
    """A program `pmcp`, and the tree with the SDKs that belong to it."""

    def __init__(self, label, pmcp, tree, memory, python):
        self.label = label
        self.pmcp = pmcp.resolve()
        self.tree = tree.resolve()
        # The bytes that an attack may take before it is ended.
        self.memory = memory
        self.python = python

    def command(self, *arguments):
        return [str(self.pmcp), "run", *map(str, arguments)]

    def environment(self, folder):
        """Without variables of `pmcp` and with its own home, so that nothing else has a part in it."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PMCP_")}
        return kept | {
            "HOME": str(folder),
            "XDG_RUNTIME_DIR": str(folder),
            "PROTOMCP_PYTHON": self.python,
            "PYTHONPATH": str(self.tree / "sdk/python/src"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }


class Program:
    """A running `pmcp`. It is killed, with all that it has started, when its memory exceeds the cap."""

    def __init__(self, build, folder, arguments, **pipes):
        self.mark = f"PMCP_HOSTILE={uuid.uuid4()}"
        name, _, value = self.mark.partition("=")
        self.cap = build.memory
        self.is_over = False
        self.peak = 0
        self.log = folder / f"{uuid.uuid4()}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                build.command(*arguments),
                env=build.environment(folder) | {name: value},
                cwd=folder,
                stderr=log,
                **pipes,
            )
        self.watching = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self):
        while not self.watching.wait(0.05):
            self.peak = max(self.peak, in_memory(self.process.pid, "VmHWM"))
            tools = max((in_memory(pid) for pid in self.processes() if pid != self.process.pid), default=0)
            if self.peak > self.cap or tools > self.cap:
                self.is_over = True
                self.kill()
                return

    def memory(self):
        """The bytes of `pmcp` itself that are in memory."""
        return in_memory(self.process.pid)

    def processes(self):
        """All processes that inherit the mark."""
        mark, found = self.mark.encode(), []
        for path in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if path.name.isdigit() and mark in (path / "environ").read_bytes().split(b"\0"):
                    found.append(int(path.name))
        return found

    def kill(self):
        for pid in {self.process.pid, *self.processes()}:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def end(self):
        self.watching.set()
        self.process.terminate()
        try:
            self.process.wait(3)
        except subprocess.TimeoutExpired:
            pass
        self.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def in_memory(pid, name="VmRSS"):
    """The bytes of a process that are in memory, or with VmHWM the most that were."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(rf"{name}:\s+(\d+) kB", text)
    return int(found[1]) << 10 if found else 0


class Piped(Program):
    """`pmcp` on standard input and output. A thread reads what it sends, with the time of each line."""

    def __init__(self, build, folder, *arguments):
        super().__init__(build, folder, arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lines = queue.Queue()
        self.answers = {}
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put((time.perf_counter(), line))
        self.lines.put(None)

    def send(self, *messages):
        data = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(data)
            self.process.stdin.flush()

    def answer(self, number, seconds):
        """The time at which the answer arrived, and the answer; None after this many seconds, or if `pmcp` is gone."""
        deadline = time.perf_counter() + seconds
        while number not in self.answers:
            try:
                item = self.lines.get(timeout=max(deadline - time.perf_counter(), 0.001))
            except queue.Empty:
                return None
            if item is None:
                self.lines.put(None)
                return None
            at, line = item
            message = json.loads(line)
            if "id" in message and "method" not in message:
                self.answers[message["id"]] = at, message
        return self.answers.pop(number)

    def begin(self):
        self.send(INITIALIZE)
        if self.answer(0, 60) is None:
            raise RuntimeError(f"pmcp does not start: {self.log.read_text()[-2000:]}")
        self.send(INITIALIZED, request("list", "tools/list"))
        self.answer("list", 60)
        return self

    def timed(self, message, seconds):
        """The seconds until the answer, or None, and what it says."""
        before = time.perf_counter()
        self.send(message)
        found = self.answer(message["id"], seconds)
        return (None, None) if found is None else (found[0] - before, text_of(found[1]))


def text_of(answer):
    """An answer in one line."""
    if "error" in answer:
        return f"error {answer['error']['code']}: {answer['error']['message']}"
    result = answer["result"]
    if "content" not in result:
        return json.dumps(result)
    text = " ".join(block.get("text", "") for block in result["content"])
    return f"failed: {text}" if result.get("isError") else text


class Web(Program):
    """`pmcp` on a port."""

    def __init__(self, build, folder, *arguments):
        super().__init__(
            build, folder, [*arguments, "--port", "0"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        self.port = None

    def begin(self):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.process.poll() is None:
            found = re.search(r"(?:localhost|127\.0\.0\.1):(\d+)", self.log.read_text())
            if found and found[1] != "0":
                self.port = int(found[1])
                return self
            time.sleep(0.05)
        raise RuntimeError(f"pmcp does not listen: {self.log.read_text()[-2000:]}")


class User:
    """A client over HTTP at its own address of this machine: without authentication an address is a user."""

    def __init__(self, port, address):
        self.port = port
        self.address = address
        self.session = {}
        head, _ = self.post(INITIALIZE, 30)
        found = re.search(rb"(?im)^mcp-session-id: *(\S+)", head)
        if not found:
            raise RuntimeError(f"no session: {head.decode(errors='replace')}")
        self.session = {"Mcp-Session-Id": found[1].decode(), "MCP-Protocol-Version": "2025-11-25"}
        self.post(INITIALIZED, 30)

    def post(self, message, seconds):
        """The head and the body of the response, as far as they arrive within this many seconds."""
        body = json.dumps(message).encode()
        fields = {
            "Host": f"127.0.0.1:{self.port}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Content-Length": len(body),
            "Connection": "close",
        } | self.session
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        with socket.create_connection(("127.0.0.1", self.port), 10, (self.address, 0)) as connection:
            connection.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)
            data, deadline = b"", time.monotonic() + seconds
            with contextlib.suppress(TimeoutError):
                while (left := deadline - time.monotonic()) > 0:
                    connection.settimeout(left)
                    part = connection.recv(1 << 16)
                    if not part:
                        break
                    data += part
        head, _, rest = data.partition(b"\r\n\r\n")
        return head, rest
