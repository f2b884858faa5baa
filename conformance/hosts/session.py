"""Begins a session over HTTPS, or uses one, with the `ssl` of Python. Prints the status and the id of the session as JSON.

Usage: session.py PORT AUTHORITY CERTIFICATE KEY [SESSION]
"""

import http.client
import json
import ssl
import sys

port, authority, certificate, key, *session = sys.argv[1:]
context = ssl.create_default_context(cafile=authority)
context.load_cert_chain(certificate, key)
connection = http.client.HTTPSConnection("localhost", int(port), context=context)
headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
if session:
    message = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    headers |= {"mcp-session-id": session[0], "mcp-protocol-version": "2025-11-25"}
else:
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
connection.request("POST", "/mcp", json.dumps(message), headers)
response = connection.getresponse()
print(json.dumps({"status": response.status, "session": response.getheader("mcp-session-id")}))
