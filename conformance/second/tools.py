"""The tools, prompts and resources of the process of the vectors."""

import json
import threading



def schema(**properties):
    kinds = {name: {"type": kind} for name, kind in properties.items()}
    return json.dumps({"type": "object", "properties": kinds, "required": list(properties)})


def failed(code, message, suggestion=""):
    error = {"error_code": code, "message": message, "suggestion": suggestion}
    return {"is_error": True, "error": {name: value for name, value in error.items() if value}}


def add(call):
    total = call.arguments["a"] + call.arguments["b"]
    return {"result_json": json.dumps(str(total)), "structured_content_json": json.dumps({"sum": total})}


def echo(call):
    return {"result_json": json.dumps(call.arguments["text"], ensure_ascii=False)}


def count(call):
    for done in range(1, call.arguments["to"] + 1):
        call.progress(done, call.arguments["to"], f"step {done}")
    return {"result_json": '"counted"'}


def wait(call):
    call.log("info", "waiting")
    call.cancelled.wait()
    call.log("warning", "cancelled")
    return None


def large(call):
    text = json.dumps("x" * call.arguments["size"], ensure_ascii=False)
    if call.arguments.get("chunk"):
        return call.link.chunked(call.id, text, call.arguments["chunk"])
    if call.arguments.get("error"):
        return {"result_json": text, "is_error": True}
    return {"result_json": text}


def sample(call):
    message = {"role": "user", "content": {"type": "text", "text": call.arguments["text"]}}
    answer = call.ask("sampling_request", {"messages_json": json.dumps([message]), "max_tokens": 100})
    return {"result_json": answer["content_json"]}


def roots(call):
    answer = call.ask("list_roots_request", {})
    return {"result_json": json.dumps(", ".join(root["uri"] for root in answer.get("roots", [])))}


def confirm(call):
    question = {"message": call.arguments["text"], "requested_schema_json": schema(sure="boolean")}
    answer = call.ask("elicitation_request", question)
    return {"result_json": json.dumps(f"{answer['action']} {answer.get('content_json', '')}".strip())}


def reveal(call):
    shown = call.ask("enable_tools", {"tool_names": ["secret"]})["tool_names"]
    return {"result_json": json.dumps(" ".join(shown))}


def hide(call):
    return {"result_json": '"hidden"', "disable_tools": ["secret"], "metadata_json": '{"example.org/hidden":1}'}


def secret(call):
    return {"result_json": '"42"'}


def meta(call):
    known = {"metadata": call.meta, "context": call.context}
    return {"result_json": json.dumps(json.dumps(known, sort_keys=True))}


def fail(call):
    return failed("OUT_OF_PAPER", "there is no paper left", "put some in")


class Jobs:
    """Tasks: each is done once its state was asked for twice."""

    def __init__(self):
        self.polls, self.last, self.lock = {}, 0, threading.Lock()

    def begin(self, call):
        with self.lock:
            self.last += 1
            task_id = f"job-{self.last}"
            self.polls[task_id] = 0
        return {"task_id": task_id}

    def state(self):
        """The number of the last job: the next process goes on from there. Without a job there is nothing to hand over."""
        with self.lock:
            return json.dumps({"jobs": self.last}).encode() if self.last else b""

    def take_over(self, state):
        last = int(json.loads(state)["jobs"])
        with self.lock:
            self.last = last
        return {}

    def status(self, task_id):
        with self.lock:
            polls = self.polls.get(task_id)
            if polls is None:
                return {"task_id": task_id, "state": "failed", "message": "unknown task"}
            if polls < 0:
                return {"task_id": task_id, "state": "cancelled"}
            self.polls[task_id] = polls + 1
        if polls < 2:
            return {"task_id": task_id, "state": "running", "progress": polls + 1, "total": 3, "message": "working"}
        return {"task_id": task_id, "state": "completed", "progress": 3, "total": 3}

    def cancel(self, task_id):
        with self.lock:
            if task_id in self.polls:
                self.polls[task_id] = -1
        return self.status(task_id)


USED_BY_APP = {"metadata_json": '{"ui":{"resourceUri":"ui://second/add"}}'}
TOOLS = {
    "add": (add, "Adds two numbers", schema(a="number", b="number"), {"output_schema_json": schema(sum="number")} | USED_BY_APP),
    "echo": (echo, "Returns a text", schema(text="string"), {"title": "Echo", "read_only_hint": True}),
    "count": (count, "Counts, with progress", schema(to="integer"), {"annotations_json": '{"destructiveHint":false}'}),
    "wait": (wait, "Waits until it is cancelled", "", {}),
    "large": (large, "Returns a large text", schema(size="integer"), {}),
    "sample": (sample, "Asks the model", schema(text="string"), {}),
    "roots": (roots, "Asks for the roots", "", {}),
    "confirm": (confirm, "Asks the user", schema(text="string"), {}),
    "reveal": (reveal, "Shows the secret tool", "", {}),
    "hide": (hide, "Hides the secret tool", "", {}),
    "secret": (secret, "Is hidden at the start", "", {}),
    "meta": (meta, "Returns the metadata of its call", "", {}),
    "fail": (fail, "Fails", "", {}),
    "job": (None, "Runs as a task", "", {"task_support": True}),
}
HIDDEN = ["secret"]


def definitions():
    for name, (_, description, input_schema, more) in TOOLS.items():
        definition = {"name": name, "description": description} | more
        yield definition | ({"input_schema_json": input_schema} if input_schema else {})


APP = "ui://second/add"
RESOURCES = [
    {"uri": "memo://one", "name": "one", "description": "A memo", "mime_type": "text/plain", "title": "Memo One"},
    {"uri": APP, "name": "app", "mime_type": "text/html;profile=mcp-app", "metadata_json": '{"ui":{}}'},
]
TEMPLATES = [{"uri_template": "memo://{name}", "name": "memo", "mime_type": "text/plain"}]
PROMPTS = [
    {
        "name": "greet",
        "description": "Greets",
        "arguments": [{"name": "who", "description": "Whom", "required": True, "title": "Who"}],
        "title": "A Greeting",
    }
]
PEOPLE = ["Ada", "Alan", "Grace"]


def read(uri):
    if uri == "memo://one":
        return {"contents": [{"uri": uri, "text": "buy milk"}, {"uri": uri, "mime_type": "image/png", "blob": b"\x89P"}]}
    if uri == APP:
        return {"contents": [{"uri": uri, "text": "<p>adds</p>", "metadata_json": '{"ui":{"prefersBorder":true}}'}]}
    if uri == "memo://broken":
        return {"error": {"error_code": "IO", "message": "the disk is broken"}}
    return {}


def prompt(name, arguments_json):
    who = json.loads(arguments_json or "{}").get("who", "")
    if name != "greet" or not who:
        return {"error": {"error_code": "NOT_FOUND", "message": f"cannot greet {who!r}"}}
    content = json.dumps({"type": "text", "text": f"Hello, {who}!"})
    return {"description": "Greets", "messages": [{"role": "user", "content_json": content}]}


def complete(request):
    settled = json.loads(request.get("context_json", "") or "{}").values()
    values = [one for one in PEOPLE if one.startswith(request.get("argument_value", "")) and one not in settled]
    return {"values": values, "total": len(values)}
