"""A second program that lives as long as the tools need it: pmcp dev sidecar.py.

It starts at the first call, which waits until the health check succeeds, and it ends with the tool process. Here it is
this program with another argument.
"""

import http.server
import socket
import sys
import urllib.request

from protomcp import sidecar, tool


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"the sidecar says {self.path[1:]}".encode())


if len(sys.argv) == 3 and sys.argv[1] == "serve":
    http.server.HTTPServer(("127.0.0.1", int(sys.argv[2])), Answer).serve_forever()

with socket.create_server(("127.0.0.1", 0)) as probe:
    port = probe.getsockname()[1]
url = f"http://127.0.0.1:{port}"


@sidecar(f"protomcp-example-{port}", [sys.executable, __file__, "serve", str(port)], health_check=f"{url}/health")
@tool("Asks the sidecar.", read_only=True)
def ask(about: str) -> str:
    with urllib.request.urlopen(f"{url}/{about}", timeout=10) as answer:
        text: str = answer.read().decode()
        return text
