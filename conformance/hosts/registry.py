"""A schema registry over TLS, with one module.

Usage: registry.py FOLDER

FOLDER has cert.pem and key.pem, the descriptor set set.binpb, and `mode`: "open", "token:TOKEN" or "down". Prints its port.
Each request is a line of `seen`: its path and its authorization.
"""
import http.server
import ssl
import sys
from pathlib import Path

FOLDER = Path(sys.argv[1])
COMMIT = b"0123456789abcdef0123456789abcdef"


def delimited(number, data):
    length, size = b"", len(data)
    while size > 0x7F:
        length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + data


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        authorization = self.headers.get("authorization", "")
        with open(FOLDER / "seen", "a") as file:
            file.write(f"{self.path} {authorization}\n")
        mode = (FOLDER / "mode").read_text()
        if mode == "down":
            self.reply(503, "application/json", b'{"code":"unavailable"}')
        elif mode.startswith("token:") and authorization != "Bearer " + mode.removeprefix("token:"):
            self.reply(401, "application/json", b'{"code":"unauthenticated"}')
        else:
            body = delimited(1, (FOLDER / "set.binpb").read_bytes()) + delimited(2, delimited(1, COMMIT))
            self.reply(200, "application/proto", body)

    def reply(self, status, kind, body):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.minimum_version = ssl.TLSVersion.TLSv1_3
context.load_cert_chain(FOLDER / "cert.pem", FOLDER / "key.pem")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(server.server_address[1], flush=True)
server.serve_forever()
