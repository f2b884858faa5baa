#!/usr/bin/env python3
"""A tool process that was written from docs/envelope.md alone; Python 3.11 and nothing else."""

import json
import os
import socket
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from link import Call, Cancelled, Link, Refused  # noqa: E402
from messages import kind_of  # noqa: E402
import tools  # noqa: E402

INFO = {
    "name": "second",
    "version": "1.0",
    "language": "python",
    "max_concurrent_calls": 16,
    "features": ["elicitation", "reload-in-place", "request-context", "ping", "hand-over"],
}
MIDDLEWARE = [("polite", 10), ("loud", 20)]


class Process:
    """Answers the requests of the bridge. Calls run in their own threads; everything else is answered immediately."""

    def __init__(self, stream):
        self.link, self.jobs, self.registering, self.context = Link(stream), tools.Jobs(), None, {}

    def run(self):
        self.link.send("sdk_info", INFO)
        for envelope in self.link.envelopes():
            kind, self.context = kind_of(envelope), envelope.get("context", {})
            handler = getattr(self, kind, None)
            if handler:
                handler(envelope[kind], envelope.get("request_id", ""))
            elif kind in ("active_tools", "sampling_response", "list_roots_response", "elicitation_response"):
                self.link.answered(envelope)
        for call in list(self.link.calls.values()):
            call.cancelled.set()

    def bridge_info(self, info, _):
        self.link.features = set(info.get("features", []))

    def ping(self, _, request_id):
        self.link.send("pong", {}, request_id)

    def hand_over(self, _, request_id):
        self.link.send("hand_over_response", {"state": self.jobs.state()}, request_id)

    def take_over(self, request, request_id):
        try:
            answer = self.jobs.take_over(request.get("state", b""))
        except (KeyError, TypeError, ValueError) as error:
            answer = {"error": f"the state cannot be read: {type(error).__name__}"}
        self.link.send("take_over_response", answer, request_id)

    def list_tools(self, _, request_id):
        self.register(request_id, "")

    def reload(self, _, request_id):
        self.register("", request_id)

    def register(self, list_id, signal_id):
        """The handshake; its signal answers a reload."""
        self.link.send("tool_list", {"tools": list(tools.definitions())}, list_id)
        self.registering = (list(MIDDLEWARE), signal_id)
        self.register_middleware_response({}, "")

    def register_middleware_response(self, _, __):
        if self.registering is None:
            return
        left, signal_id = self.registering
        if left:
            name, priority = left.pop(0)
            return self.link.send("register_middleware", {"name": name, "priority": priority})
        self.registering = None
        self.link.send("reload_response", {"success": True}, signal_id)
        if not signal_id:
            # What is hidden stays so in a reload.
            self.link.send("disable_tools", {"tool_names": tools.HIDDEN})

    def call_tool(self, request, request_id):
        if request.get("name") == "job":
            return self.link.send("create_task", self.jobs.begin(request_id), request_id)
        call = self.link.calls[request_id] = Call(self.link, request_id, request, self.context)
        threading.Thread(target=self.work, args=(call, request.get("name", ""), request_id), daemon=True).start()

    def work(self, call, name, request_id):
        try:
            if name not in tools.TOOLS:
                result = tools.failed("NOT_FOUND", f"unknown tool {name}")
            else:
                result = tools.TOOLS[name][0](call)
            if result is not None and not call.cancelled.is_set():
                self.link.result(request_id, result)
        except Cancelled:
            pass
        except Refused as error:
            self.link.result(request_id, tools.failed("REFUSED", str(error)))
        except (KeyError, TypeError, ValueError) as error:
            self.link.result(request_id, tools.failed("INVALID_ARGUMENTS", f"{type(error).__name__}: {error}"))
        except OSError:
            pass
        finally:
            self.link.calls.pop(request_id, None)

    def cancel(self, request, _):
        call = self.link.calls.get(request.get("request_id", ""))
        if call:
            call.cancelled.set()

    def task_status(self, request, request_id):
        self.link.send("task_status_response", self.jobs.status(request.get("task_id", "")), request_id)

    def task_result(self, request, request_id):
        self.link.result(request_id, {"result_json": json.dumps(f"{request['task_id']} is done")})

    def task_cancel(self, request, request_id):
        self.link.send("task_status_response", self.jobs.cancel(request.get("task_id", "")), request_id)

    def middleware_intercept(self, request, request_id):
        answer = {}
        if request.get("tool_name") == "echo":
            answer = self.intercept(request["middleware_name"], request["phase"], request)
        self.link.send("middleware_intercept_response", answer, request_id)

    def intercept(self, name, phase, request):
        arguments = json.loads(request.get("arguments_json", "{}"))
        if (name, phase) == ("polite", "before") and arguments.get("text") == "rude":
            return {"reject": True, "reject_reason": "be polite"}
        if (name, phase) == ("loud", "before"):
            return {"arguments_json": json.dumps(arguments | {"text": arguments.get("text", "").upper()})}
        if (name, phase) == ("loud", "after"):
            return {"result_json": request["result_json"][:-1] + '!"'}
        return {}

    def list_resources_request(self, _, request_id):
        self.link.send("resource_list_response", {"resources": tools.RESOURCES}, request_id)

    def list_resource_templates_request(self, _, request_id):
        self.link.send("resource_template_list_response", {"templates": tools.TEMPLATES}, request_id)

    def list_prompts_request(self, _, request_id):
        self.link.send("prompt_list_response", {"prompts": tools.PROMPTS}, request_id)

    def read_resource_request(self, request, request_id):
        self.link.send("read_resource_response", tools.read(request.get("uri", "")), request_id)

    def get_prompt_request(self, request, request_id):
        answer = tools.prompt(request.get("name", ""), request.get("arguments_json", ""))
        self.link.send("get_prompt_response", answer, request_id)

    def completion_request(self, request, request_id):
        self.link.send("completion_response", tools.complete(request), request_id)


def main():
    path = os.environ.get("PROTOMCP_SOCKET")
    if not path:
        sys.exit("PROTOMCP_SOCKET is not set: run this file with pmcp")
    stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    stream.connect(path)
    Process(stream).run()


if __name__ == "__main__":
    main()
