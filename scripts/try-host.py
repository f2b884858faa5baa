"""A host in fifty lines: starts pmcp, lists and calls tools, and watches a save take effect."""
import json
import subprocess
import sys

pmcp, tools = sys.argv[1:]
host = subprocess.Popen([pmcp, "dev", tools], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
count = 0


def send(message):
    host.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    host.stdin.flush()


def receive():
    line = host.stdout.readline()
    if not line:
        sys.exit(f"pmcp ended with status {host.wait()}")
    return json.loads(line)


def ask(method, **params):
    global count
    count += 1
    send({"id": count, "method": method, "params": params})
    while True:
        message = receive()
        if message.get("id") == count:
            return message["result"]


def call(name, /, **arguments):
    result = ask("tools/call", name=name, arguments=arguments)
    text = result["content"][0]["text"]
    print(f"   {name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())}) -> {text}")
    return text


client = {"name": "try", "version": "1"}
about = ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)["serverInfo"]
send({"method": "notifications/initialized"})
print(f"   connected to {about['name']} {about['version']}")
for tool in ask("tools/list")["tools"]:
    print(f"   tool {tool['name']}: {tool['description']}")
call("add", a=2, b=3)
call("greet", name="world")

print("   saving the file with another greeting ...")
with open(tools, encoding="utf-8") as file:
    source = file.read()
with open(tools, "w", encoding="utf-8") as file:
    file.write(source.replace("Hello", "Good morning"))
while receive().get("method") != "notifications/tools/list_changed":
    pass
assert "Good morning" in call("greet", name="world"), "the new version answers"

host.stdin.close()
sys.exit(host.wait())
