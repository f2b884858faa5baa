"""A second program that lives as long as the tools need it: pmcp dev sidecar.py.

It starts at the first call, which waits until the health check succeeds, and it ends with pmcp.
"""
import socket
import sys
import urllib.request

from protomcp import sidecar, tool

with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]

SERVE = """
import http.server, sys

class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"the sidecar says " + self.path.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""


@sidecar(
    f"protomcp-example-{port}",
    [sys.executable, "-c", SERVE, str(port)],
    health_check=f"http://127.0.0.1:{port}/health",
)
@tool("Asks the sidecar.", read_only=True)
def ask(about: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{about}", timeout=10) as answer:
        return answer.read().decode()
