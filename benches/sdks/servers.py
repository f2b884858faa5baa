"""Servers of the bench: a process with all that it starts, and its clients over pipes or HTTP.

The clients cost little compared with the servers: requests are written as bytes, answers are cut apart and counted.
The first and the last answer of each part are read.
"""

import json
import os
import pathlib
import re
import select
import socket
import subprocess
import sys
import time
import uuid

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": "list", "method": "tools/list", "params": {}}


def call(tool, number):
    return {
        "jsonrpc": "2.0",
        "id": number,
        "method": "tools/call",
        "params": {"name": tool, "arguments": {"a": 2, "b": 3}},
    }


def check(answer):
    if answer["result"]["content"][0]["text"] != "5" or answer["result"].get("isError"):
        sys.exit(f"a wrong answer: {answer}")


class Program:
    """A running server, and all processes that it starts."""

    def __init__(self, command, environment, folder, **pipes):
        self.mark = f"PMCP_BENCH={uuid.uuid4()}"
        name, _, value = self.mark.partition("=")
        variables = dict(os.environ) | {key: str(each) for key, each in environment.items()}
        variables |= {name: value, "XDG_RUNTIME_DIR": str(folder), "HOME": str(folder)}
        self.started = time.perf_counter()
        self.process = subprocess.Popen([str(word) for word in command], env=variables, cwd=folder, **pipes)

    def processes(self):
        """The server and the processes that it has started: they inherit the mark."""
        mark, found = self.mark.encode(), []
        for path in pathlib.Path("/proc").iterdir():
            try:
                if path.name.isdigit() and mark in (path / "environ").read_bytes().split(b"\0"):
                    found.append(path)
            except OSError:
                continue
        return found

    def cpu(self):
        """The seconds of processor time so far: of all processes, and of those that are not `pmcp`."""
        total = tools = 0
        for path in self.processes():
            # The clock of another process (clock_getcpuclockid(3)): finer than the ticks of /proc.
            used = time.clock_gettime((~int(path.name) << 3) | 2)
            total += used
            tools += 0 if "pmcp" in (path / "exe").resolve().name else used
        return total, tools

    def memory(self):
        """MB that are in memory, with a share of those that others map, too."""
        total = 0
        for path in self.processes():
            text = (path / "smaps_rollup").read_text()
            total += next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
        return total / 1024

    def end(self):
        self.process.terminate()
        self.process.wait(30)


class Piped(Program):
    """A server over pipes."""

    def __init__(self, command, environment, folder):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        super().__init__(command, environment, folder, **pipes)
        self.out, self.into = self.process.stdout.fileno(), self.process.stdin.fileno()
        self.rest = b""
        self.last = 0

    def send(self, data):
        while data:
            data = data[os.write(self.into, data) :]

    def lines(self):
        """The whole answers that have arrived; waits for one."""
        while True:
            data = os.read(self.out, 1 << 16)
            if not data:
                raise EOFError("the server has ended")
            *whole, self.rest = (self.rest + data).split(b"\n")
            # Notifications are not answers.
            answers = [line for line in whole if b'"id":' in line]
            if answers:
                return answers

    def request(self, message):
        self.send(json.dumps(message).encode() + b"\n")
        return json.loads(self.lines()[0])

    def begin(self):
        """Returns the seconds from the start to the list of tools."""
        self.request(INITIALIZE)
        self.send(json.dumps(INITIALIZED).encode() + b"\n")
        self.request(LIST)
        seconds = time.perf_counter() - self.started
        check(self.request(call("add", -1)))
        return seconds

    def calls(self, tool, count):
        self.last += count
        numbers = range(self.last - count + 1, self.last + 1)
        return [json.dumps(call(tool, number)).encode() + b"\n" for number in numbers]

    def one_at_a_time(self, tool, count):
        """The seconds of each call."""
        found = []
        for request in self.calls(tool, count):
            before = time.perf_counter()
            self.send(request)
            (line,) = self.lines()
            found.append(time.perf_counter() - before)
        check(json.loads(line))
        return found

    def concurrently(self, tool, count, width):
        """The seconds of all calls, of which `width` are always under way."""
        requests = self.calls(tool, count)
        before = time.perf_counter()
        self.send(b"".join(requests[:width]))
        sent, answered = width, 0
        while answered < count:
            lines = self.lines()
            answered += len(lines)
            following = requests[sent : sent + len(lines)]
            sent += len(following)
            if following:
                self.send(b"".join(following))
        seconds = time.perf_counter() - before
        check(json.loads(lines[-1]))
        return seconds

    def end(self):
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


class Connection:
    """A client of an HTTP server, with its own session."""

    def __init__(self, port):
        self.port = port
        self.socket = None
        self.connect()
        self.last = 0
        self.head = f"Host: 127.0.0.1:{port}\r\n"
        head, body = self.exchange(self.bytes(INITIALIZE))
        session = re.search(rb"(?i)^mcp-session-id: *(\S+)", head, re.MULTILINE)
        if not session:
            sys.exit(f"the server has opened no session: {head.decode()} {body.decode()}")
        self.head += f"MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: {session[1].decode()}\r\n"
        self.exchange(self.bytes(INITIALIZED))

    def connect(self):
        """Anew, if it is connected: some servers close connections that are quiet for seconds."""
        if self.socket:
            self.socket.close()
        self.socket = socket.create_connection(("127.0.0.1", self.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest = b""

    def bytes(self, message):
        body = json.dumps(message).encode()
        head = (
            "POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\n{self.head}Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def call(self, tool):
        self.last += 1
        return self.bytes(call(tool, self.last))

    def exchange(self, request):
        """The head and the body of the answer."""
        self.socket.sendall(request)
        while (answer := self.answer()) is None:
            pass
        return answer

    def answer(self):
        """Reads once; the answer if it is whole."""
        data = self.socket.recv(1 << 16)
        if not data:
            raise EOFError("the server has closed a connection")
        self.rest += data
        head, end, body = self.rest.partition(b"\r\n\r\n")
        if not end:
            return None
        size = re.search(rb"(?i)^content-length: *(\d+)", head, re.MULTILINE)
        if size:
            if len(body) < int(size[1]):
                return None
        elif b"chunked" in head.lower() and not body.endswith(b"0\r\n\r\n"):
            return None
        self.rest = b""
        return head, body

    def list(self):
        return self.exchange(self.bytes(LIST))


def read(body):
    """The message of an answer, as JSON or as the data of an event."""
    return json.loads(re.search(rb"\{.*\}", body, re.DOTALL)[0])


class Web(Program):
    """A server on a port; None: it says which."""

    def __init__(self, command, environment, folder, port):
        # A file: nothing reads the log while the bench runs.
        self.log = folder / f"{uuid.uuid4()}.log"
        with self.log.open("wb") as log:
            pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": log}
            super().__init__(command, environment, folder, **pipes)
        self.port = port
        self.connections = []

    def begin(self):
        """Returns the seconds from the start to the list of tools."""
        deadline = time.monotonic() + 60
        while not self.connections:
            try:
                port = self.port or int(re.search(r"listening on http://\S+?:(\d+)", self.log.read_text())[1])
                self.connections.append(Connection(port))
                self.port = port
            except (OSError, TypeError):
                if time.monotonic() > deadline or self.process.poll() is not None:
                    sys.exit(f"the server does not answer: {self.log.read_text()}")
                time.sleep(0.002)
        self.connections[0].list()
        return time.perf_counter() - self.started

    def one_at_a_time(self, tool, count):
        found = []
        connection = self.connections[0]
        connection.connect()
        for _ in range(count):
            request = connection.call(tool)
            before = time.perf_counter()
            _, body = connection.exchange(request)
            found.append(time.perf_counter() - before)
        check(read(body))
        return found

    def concurrently(self, tool, count, width):
        """The seconds of all calls of `width` clients, each of which makes one after the other."""
        for each in self.connections:
            each.connect()
        while len(self.connections) < width:
            self.connections.append(Connection(self.port))
        waiting = {each.socket.fileno(): each for each in self.connections[:width]}
        poller = select.epoll()
        for number in waiting:
            poller.register(number, select.EPOLLIN)
        requests = [[each.call(tool) for _ in range(-(-count // width))] for each in waiting.values()]
        left = dict(zip(waiting, requests, strict=True))
        total = answered = sum(map(len, requests))
        before = time.perf_counter()
        for number, each in waiting.items():
            each.socket.sendall(left[number].pop())
        while answered:
            for number, _ in poller.poll():
                each = waiting[number]
                if (answer := each.answer()) is None:
                    continue
                answered -= 1
                if left[number]:
                    each.socket.sendall(left[number].pop())
        seconds = time.perf_counter() - before
        poller.close()
        check(read(answer[1]))
        return seconds * count / total

    def end(self):
        for each in self.connections:
            each.socket.close()
        super().end()
