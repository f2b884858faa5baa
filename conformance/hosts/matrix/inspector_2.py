"""The command line of the official inspector, 2.x, in the matrix of clients; report.py says how it is used.

Usage: inspector_2.py INSPECTOR PLAN, where INSPECTOR is the mcp-inspector program.

It connects anew for each method, so a feature is one run of it, and what needs more than one request it does not have.
"""
import asyncio
import json
import sys

from report import NEWEST, Has, Report, has, is_, lacks

METHODS = [
    "initialize", "tools/list", "tools/call", "resources/list", "resources/read", "resources/templates/list", "prompts/list",
    "prompts/get", "logging/setLevel",
]
NOT_THERE = {
    "ping": "ping",
    "completion": "completion/complete",
    "subscription": "resources/subscribe",
    "listen": "subscriptions/listen",
    "tasks": "tasks/get",
}
NO_FLAG = {
    "progress": ("it does not show progress", "progress"),
    "cancellation": ("it cannot give up", "cancel"),
    "sampling": ("it has no model", "sampling"),
    "form": ("it cannot ask its user", "elicit"),
    "page": ("it cannot ask its user", "elicit"),
    "roots": ("it has no roots", "roots"),
    "several": ("it cannot ask its user", "elicit"),
    "roots changed": ("it has no roots", "roots"),
    "tools changed": ("it does not wait for news", "--listen"),
    "prompts changed": ("it does not wait for news", "--listen"),
    "resources changed": ("it does not wait for news", "--listen"),
}


class Inspector:
    def __init__(self, program, report, target, words):
        self.program, self.report, self.target, self.help = program, report, target, words
        self.is_newest = report.revision == NEWEST

    async def run(self, method, *options):
        """The result of a method; an error of the protocol as {"error": ...}."""
        if not self.report.plan["tries"]:
            raise Has
        era = "modern" if self.is_newest else "legacy"
        command, *arguments = self.target
        # The last of these options takes no word after it for its own.
        words = ["--cli", "--method", method, *options, "--protocol-era", era, "--format", "json", "--quiet", command]
        if arguments:
            words += ["--", *arguments]
        process = await asyncio.create_subprocess_exec(
            self.program, *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        out, err = await process.communicate()
        for said in (out, err):
            if said.strip().startswith(b"{"):
                seen = json.loads(said)
                return seen.get("result", seen)
        raise AssertionError(f"{method}: {out!r} {err!r}")

    async def call(self, tool, **arguments):
        return await self.run("tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments))

    async def open(self):
        seen = await self.run("initialize")
        is_(seen["serverInfo"]["name"], self.report.plan["server"])
        is_(seen["protocolVersion"], self.report.revision)

    async def tools(self):
        names = [tool["name"] for tool in (await self.run("tools/list"))["tools"]]
        is_(names, sorted(set(names)))
        # A page may have two.
        assert len(names) > 2
        has(names, "test_structured")

    async def text(self):
        result = await self.call("test_simple_text")
        is_(result["content"][0]["text"], "This is a simple text response for testing.")

    async def content(self):
        result = await self.call("test_multiple_content_types")
        is_([block["type"] for block in result["content"]], ["text", "image", "resource"])

    async def structured(self):
        is_((await self.call("test_structured", a=2, b=3))["structuredContent"], {"sum": 5})

    async def failure(self):
        is_((await self.call("test_error_handling"))["isError"], True)

    async def refusal(self):
        seen = await self.run("resources/read", "--uri", "test://nothing")
        has(seen["error"]["message"].lower(), "not found")

    async def logging(self):
        if self.is_newest:
            lacks("it cannot say in a request what it wants to hear", "logLevel" not in self.help)
        await self.run("logging/setLevel", "--log-level", "info")

    async def resources(self):
        assert len((await self.run("resources/list"))["resources"]) > 2
        read = await self.run("resources/read", "--uri", "test://static-text")
        is_(read["contents"][0]["text"], "This is the content of the static text resource.")

    async def templates(self):
        listed = (await self.run("resources/templates/list"))["resourceTemplates"]
        is_([template["uriTemplate"] for template in listed], ["test://template/{id}/data"])

    async def prompts(self):
        assert len((await self.run("prompts/list"))["prompts"]) > 2
        options = ("--prompt-name", "test_prompt_with_arguments", "--prompt-args", "arg1=a", "arg2=b")
        given = await self.run("prompts/get", *options)
        is_(given["messages"][0]["content"]["text"], "Prompt with arguments: arg1='a', arg2='b'")

    async def prompt_content(self):
        given = await self.run("prompts/get", "--prompt-name", "test_prompt_with_image")
        is_([message["content"]["type"] for message in given["messages"]], ["image", "text"])

    async def resumption(self):
        if self.report.transport != "http":
            lacks("only streams of Streamable HTTP are resumed", True)
        if self.is_newest:
            lacks("the revision has no resumption", True)
        is_((await self.call("test_reconnection"))["content"][0]["text"], "Reconnection test completed successfully")

    async def headers(self):
        if not self.is_newest or self.report.transport == "stdio":
            lacks("only HTTP of 2026-07-28 repeats arguments in headers", True)
        is_((await self.call("test_custom_header", value="grün"))["content"][0]["text"], "Got grün")

    def features(self):
        async def no_method(method):
            lacks("its command line has no such method", method not in self.help)

        async def no_flag(reason, flag):
            lacks(reason, flag not in self.help)

        features = {
            "open": self.open,
            "tools": self.tools,
            "call": self.text,
            "content": self.content,
            "structured": self.structured,
            "failure": self.failure,
            "refusal": self.refusal,
            "logging": self.logging,
            "resources": self.resources,
            "templates": self.templates,
            "prompts": self.prompts,
            "prompt content": self.prompt_content,
            "resumption": self.resumption,
            "headers": self.headers,
        }
        features |= {name: lambda method=method: no_method(method) for name, method in NOT_THERE.items()}
        return features | {name: lambda about=about: no_flag(*about) for name, about in NO_FLAG.items()}


async def shown(program, *words):
    process = await asyncio.create_subprocess_exec(
        program, *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    return (await process.communicate())[0].decode()


async def main(program, plan):
    # What it can do, in its own words: its options, and its methods when it is asked for one that it does not have.
    words = await shown(program, "--cli", "--help") + await shown(program, "--cli", "--method", "nothing", "true")
    has(words, ", ".join(METHODS))
    busy = asyncio.Semaphore(2)

    async def one(report, name, attempt):
        async with busy:
            await report.run({name: attempt})

    async with asyncio.TaskGroup() as group:
        for transport, target in (("stdio", plan["stdio"]), ("http", [plan["http"]])):
            for revision in ("2025-11-25", NEWEST):
                report = Report(transport, revision, plan)
                for name, attempt in Inspector(program, report, target, words).features().items():
                    group.create_task(one(report, name, attempt))


asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))
