"""A server of MCP in plain JSON that uses what the protocol has, to see what is lost on the way to a client."""
import json
import sys

ICONS = [{"src": "https://example.com/icon.png", "mimeType": "image/png"}]
FAR = 9_007_199_254_740_993


def tool(name, **more):
    return {"name": name, "description": f"Runs {name}.", "inputSchema": {"type": "object"}, **more}


LISTS = {
    "tools/list": {
        "tools": [
            tool(
                "content",
                title="Content",
                icons=ICONS,
                annotations={"title": "A hint", "readOnlyHint": True, "openWorldHint": False},
                _meta={"of": "tool"},
            ),
            tool("structured"),
            tool("progress"),
            tool("logs"),
            tool("ask"),
        ],
    },
    "resources/list": {
        "resources": [
            {
                "uri": "rich:text",
                "name": "text",
                "title": "Text",
                "description": "A text.",
                "mimeType": "text/plain",
                "size": 4,
                "icons": ICONS,
                "annotations": {"priority": 0.5},
                "_meta": {"of": "resource"},
            },
        ],
    },
    "resources/templates/list": {
        "resourceTemplates": [
            {
                "uriTemplate": "rich:{name}",
                "name": "named",
                "title": "Named",
                "description": "By name.",
                "mimeType": "text/plain",
                "icons": ICONS,
                "annotations": {"priority": 0.5},
                "_meta": {"of": "template"},
            },
        ],
    },
    "prompts/list": {
        "prompts": [
            {
                "name": "greet",
                "title": "Greet",
                "description": "Greets.",
                "arguments": [{"name": "who", "title": "Who", "description": "The one.", "required": True}],
                "icons": ICONS,
                "_meta": {"of": "prompt"},
            },
        ],
    },
    "resources/read": {
        "contents": [{"uri": "rich:text", "mimeType": "text/plain", "text": "text", "_meta": {"of": "contents"}}],
        "_meta": {"of": "read"},
    },
    "prompts/get": {
        "description": "A greeting.",
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "hi", "annotations": {"priority": 0.5}}},
            {"role": "assistant", "content": {"type": "image", "data": "AAEC", "mimeType": "image/gif"}},
        ],
        "_meta": {"of": "messages"},
    },
    "logging/setLevel": {},
    "resources/subscribe": {},
    "resources/unsubscribe": {},
    "ping": {},
}

CONTENT = {
    "content": [
        {"type": "text", "text": "plain", "annotations": {"priority": 0.5}, "_meta": {"of": "text"}},
        {"type": "image", "data": "AAEC", "mimeType": "image/gif", "annotations": {"priority": 0.5}},
        {"type": "audio", "data": "AAEC", "mimeType": "audio/wav", "annotations": {"priority": 0.5}},
        {"type": "resource_link", "uri": "rich:text", "name": "text", "icons": ICONS, "_meta": {"of": "link"}},
        {"type": "resource", "resource": {"uri": "rich:text", "text": "text", "_meta": {"of": "embedded"}}},
    ],
    "_meta": {"of": "result"},
}


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def notify(method, **params):
    send({"method": method, "params": params})


def text(said, **more):
    return {"content": [{"type": "text", "text": said}], **more}


def asked():
    """True if the client has answered a question."""
    send({"id": "question", "method": "roots/list"})
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == "question":
            return "result" in message


def call(params):
    match params["name"]:
        case "content":
            return CONTENT
        case "structured":
            value = {"far": FAR, "half": 0.5}
            return text(json.dumps(value), structuredContent=value)
        case "progress":
            token = params.get("_meta", {}).get("progressToken")
            notify("notifications/progress", progressToken=token, progress=0.5, total=0, message="")
            notify("notifications/progress", progressToken=token, progress=1, total=2, message="half")
            return text("done")
        case "logs":
            notify("notifications/message", level="info", logger="", data={"far": FAR, "list": [1, None]})
            deep = "deep"
            for _ in range(40):
                deep = [deep]
            notify("notifications/message", level="error", logger="rich", data=deep)
            return text("done")
        case "ask":
            return text("answered" if asked() else "refused")


def answer(method, params):
    match method:
        case "initialize":
            capabilities = {name: {} for name in ("tools", "prompts", "completions", "logging")}
            capabilities["resources"] = {"subscribe": True}
            info = {"name": "rich", "version": "1.0"}
            version = params["protocolVersion"]
            return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}
        case "tools/call":
            return call(params)
        case "completion/complete":
            total = {"few": 0, "many": 1 << 33}[params["argument"]["value"]]
            return {"completion": {"values": ["value"], "total": total, "hasMore": False}, "_meta": {"of": "values"}}
        case _:
            return LISTS.get(method)


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    result = answer(message["method"], message.get("params", {}))
    if result is None:
        send({"id": message["id"], "error": {"code": -32601, "message": "unknown method"}})
    else:
        send({"id": message["id"], "result": result})
