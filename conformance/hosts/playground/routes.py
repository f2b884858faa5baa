"""Uses the requests of `pmcp playground` and its connection of WebSocket, and prints the name of each check that has passed.

Usage: routes.py ORIGIN TOKEN PID; PID belongs to the server, which is stopped at the end.
"""

import asyncio
import json
import os
import signal
import sys
import urllib.error
import urllib.request

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

ORIGIN, TOKEN, PID = sys.argv[1], sys.argv[2], int(sys.argv[3])
AUTHORIZATION = {"Authorization": f"Bearer {TOKEN}"}
PATIENCE = float(os.environ.get("PMCP_PATIENCE", 120))


def send(path, body=None):
    """The status and the body of a response."""
    request = urllib.request.Request(ORIGIN + path, body, AUTHORIZATION)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


async def ask(path, body=None):
    encoded = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    return await asyncio.to_thread(send, path, encoded)


async def done(path, body=None):
    status, answer = await ask(path, body)
    assert status == 200, (path, status, answer)
    return answer


async def until(events, kind, wanted=lambda data: True):
    """Waits for an event."""
    while True:
        event = json.loads(await asyncio.wait_for(events.recv(), PATIENCE))
        if event["type"] == kind and wanted(event.get("data")):
            return event


async def refused(headers):
    try:
        await connect(f"ws{ORIGIN.removeprefix('http')}/ws", additional_headers=headers, proxy=None)
    except InvalidStatus as error:
        return error.response.status_code


async def main():
    assert await refused({}) == 401
    assert await refused({**AUTHORIZATION, "Origin": "https://evil.example.com"}) == 403
    print("foreign connections")

    url = f"ws{ORIGIN.removeprefix('http')}/ws"
    events = await connect(url, additional_headers=AUTHORIZATION, proxy=None, max_size=None)
    assert json.loads(await events.recv()) == {"type": "connected"}
    assert json.loads(await events.recv()) == {"type": "connection", "data": {"status": "connected"}}
    print("the begin of a connection")

    names = [tool["name"] for tool in await done("/api/tools")]
    assert "add" in names and "treasure" not in names, names
    assert "note://one" in [resource["uri"] for resource in await done("/api/resources")]
    assert [prompt["name"] for prompt in await done("/api/prompts")] == ["greet"]
    print("lists")

    called = await done("/api/call", {"name": "add", "args": {"a": 1, "b": 2}})
    assert called["result"]["content"] == [{"type": "text", "text": "3"}], called
    assert isinstance(called.pop("duration_ms"), int) and called.pop("tools_enabled") == [], called
    await until(events, "trace", lambda data: data["kind"] == "call_tool")
    exact = await done("/api/call", b'{"name": "add", "args": {"a": 12345678901234567890123, "b": 0}}')
    assert exact["result"]["content"][0]["text"] == "12345678901234567890123", exact
    failed = await done("/api/call", {"name": "fail"})
    assert failed["result"]["isError"] is True, failed
    read = await done("/api/resource/read", {"uri": "note://one"})
    assert read["contents"][0]["text"] == "the first note", read
    got = await done("/api/prompt/get", {"name": "greet", "arguments": {"name": "Ada"}})
    assert got["messages"][0]["content"]["text"].startswith("Greet Ada"), got
    print("calls, resources and prompts")

    unlocked = await done("/api/call", {"name": "unlock", "args": {}})
    assert (unlocked["tools_enabled"], unlocked["tools_disabled"]) == (["treasure"], ["unlock"]), unlocked
    await until(events, "tools_changed", lambda tools: "treasure" in [tool["name"] for tool in tools])
    assert (await done("/api/call", {"name": "treasure"}))["result"]["content"][0]["text"] == "gold"
    print("tools that change")

    slow, seen = await asyncio.gather(
        done("/api/call", {"name": "slow", "args": {"steps": 2}}),
        until(events, "progress", lambda data: data["progress"] == 1),
    )
    assert slow["result"]["content"][0]["text"] == "slow is done", slow
    assert seen["data"] == {"tool": "slow", "progress": 1, "total": 2, "message": "step 1"}, seen
    print("progress")

    large = await done("/api/call", {"name": "large", "args": {"megabytes": 5}})
    assert len(large["result"]["content"][0]["text"]) == 5_000_000
    print("a large result")

    for path, body, status in [
        ("/api/call", b'{"name', 400),
        ("/api/call", {"name": "add", "args": [1]}, 400),
        ("/api/resource/read", {}, 400),
        ("/api/call", {"name": "nothing"}, 500),
        ("/api/resource/read", {"uri": "note://"}, 500),
        ("/api/prompt/get", {"name": "nothing"}, 500),
        ("/api/call", None, 405),
        ("/api/tools", {}, 405),
        ("/ws", None, 426),
    ]:
        answer = await ask(path, body)
        assert answer[0] == status and isinstance(answer[1]["error"], str), (path, body, answer)
    print("errors")

    assert await done("/api/reload", {}) == {"status": "ok"}
    await until(events, "reload")
    await until(events, "trace", lambda data: data["kind"] == "tool_list")
    print("a reload")

    os.kill(PID, signal.SIGTERM)
    try:
        while True:
            await asyncio.wait_for(events.recv(), PATIENCE)
    except ConnectionClosed as error:
        assert error.rcvd is not None and error.rcvd.code in (1000, 1005), error
    print("the end of a connection")


asyncio.run(main())
