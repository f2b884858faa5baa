"""Steps in an order that the host can see: pmcp dev workflow.py.

Only the first step of a workflow is listed. Calling a step shows the next ones and hides everything else except
the tools in `allow_during`; the last step, or release.cancel, restores the list.
"""
from protomcp import StepResult, step, tool, workflow


@tool("Says whether the build is green.", read_only=True)
def status() -> str:
    return "green"


@tool("Deletes the build.", destructive=True)
def wipe() -> str:
    return "wiped"


@workflow("release", "Publishes a version.", allow_during=["status"])
class Release:
    version = ""

    @step(description="Chooses the version.", initial=True, next=["test"])
    def choose(self, version: str) -> StepResult:
        Release.version = version
        return StepResult(f"releasing {version}")

    @step(description="Runs the tests.", next=["publish", "fix"], on_error={ValueError: "fix"})
    def test(self, passed: bool = True) -> StepResult:
        if not passed:
            raise ValueError("two tests fail")
        return StepResult("tests pass", next=["publish"])

    @step(description="Mends what the tests found.", next=["test"])
    def fix(self) -> StepResult:
        return StepResult("mended")

    @step(description="Publishes.", terminal=True, no_cancel=True)
    def publish(self) -> StepResult:
        return StepResult(f"{Release.version} is out")

    def on_cancel(self):
        Release.version = ""
