"""Carries standard input and output to a TCP address, so that programs for stdio reach a server there.

Usage: relay.py HOST PORT                  in plain text
       relay.py HOST PORT AUTHORITY MAX    within TLS: the file of the certificate authority, and the newest version to
                                           offer, 1.2 or 1.3
       relay.py HOST PORT AUTHORITY MAX CERTIFICATE KEY      with a certificate of the client
"""

import os
import socket
import ssl
import sys
import threading


def connect():
    host, port, *secured = sys.argv[1:]
    connection = socket.create_connection((host, int(port)))
    if not secured:
        return connection
    authority, newest, *own = secured
    context = ssl.create_default_context(cafile=authority)
    context.maximum_version = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}[newest]
    if own:
        context.load_cert_chain(*own)
    return context.wrap_socket(connection, server_hostname=host)


def forward(connection) -> None:
    while data := os.read(0, 65536):
        connection.sendall(data)
    # One direction alone, which TLS of Python has no call for.
    with socket.socket(fileno=os.dup(connection.fileno())) as plain:
        plain.shutdown(socket.SHUT_WR)


def main() -> None:
    connection = connect()
    threading.Thread(target=forward, args=(connection,), daemon=True).start()
    while data := connection.recv(65536):
        while data:
            data = data[os.write(1, data):]


main()
