"""What the Python clients of the matrix share: how a feature is tried, and how the outcome is told.

A client is given one argument, the plan, a JSON object:

  "stdio": [COMMAND...], "http": URL, "sse": URL     where the server is
  "server": its name, "pages": whether its lists have more than one page
  "without": [FEATURE or FEATURE@REVISION...]        what is not tried, because the server has no such thing
  "tries": whether a client that takes minutes tries its features; otherwise it tells which of them it has

For each place and each revision that the client can be told to speak, it tries each feature, and prints one line of JSON for
each: {"transport", "revision", "feature", "ok", "detail"}. "ok" is null for what the client cannot do, which it has looked
at, and "detail" is the reason then.
"""
import asyncio
import json
import os
import traceback

# The seconds that a feature has: the limit of all tests.
PATIENCE = float(os.environ.get("PMCP_PATIENCE", 120))
NEWEST = "2026-07-28"


class Lacks(Exception):
    """The client has no such feature; the message says how that was seen."""


class Has(Exception):
    """The client has the feature, as far as that can be seen without a try."""


def lacks(reason, is_so):
    """Ends a feature that the client has not, and fails when it has it by now."""
    assert is_so, f"this is no longer true: {reason}"
    raise Lacks(reason)


def is_(seen, expected):
    assert seen == expected, f"{seen!r} is not {expected!r}"


def has(seen, part):
    assert part in seen, f"{part!r} is not in {seen!r}"


class Report:
    def __init__(self, transport, revision, plan):
        self.transport, self.revision, self.plan = transport, revision, plan

    def tell(self, feature, ok, detail=""):
        outcome = {"transport": self.transport, "revision": self.revision, "feature": feature, "ok": ok, "detail": detail}
        print(json.dumps(outcome), flush=True)

    async def run(self, features):
        """Tries features in their order; what comes first must not need what comes later."""
        for feature, attempt in features.items():
            if not {feature, f"{feature}@{self.revision}"}.isdisjoint(self.plan["without"]):
                continue
            try:
                await asyncio.wait_for(attempt(), PATIENCE)
            except Lacks as lack:
                self.tell(feature, None, str(lack))
            except Has:
                self.tell(feature, True)
            except Exception as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                self.tell(feature, False, f"{error!r} at {where.name}:{where.lineno}")
            else:
                self.tell(feature, True)


class Box:
    """What a client was told by itself, in the order in which it came."""

    def __init__(self):
        self.seen = []
        self.more = asyncio.Event()

    def put(self, what):
        self.seen.append(what)
        self.more.set()

    async def until(self, wanted):
        """Waits for something that fits, and takes it and all before it out."""
        while True:
            for at, what in enumerate(self.seen):
                if wanted(what):
                    del self.seen[: at + 1]
                    return what
            self.more.clear()
            await self.more.wait()
