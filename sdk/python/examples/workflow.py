"""Steps in an order that the server defines: pmcp dev workflow.py.

The list of tools stays the same. The first step returns a handle, which the other steps take. A step out of order is
refused with the steps that can run.
"""

from protomcp import StepResult, step, tool, workflow


@tool("Says whether the build is green.", read_only=True)
def status() -> str:
    return "green"


@workflow("release", "Publishes a version.", handles=True)
class Release:
    @step(description="Chooses the version.", initial=True, next=["test"])
    def choose(self, version: str) -> StepResult:
        return StepResult(f"releasing {version}")

    @step(description="Runs the tests.", next=["publish", "fix"], on_error={ValueError: "fix"})
    def test(self, passed: bool = True) -> StepResult:
        if not passed:
            raise ValueError("two tests fail")
        return StepResult("tests pass", next=["publish"])

    @step(description="Mends what the tests found.", next=["test"])
    def fix(self) -> StepResult:
        return StepResult("mended")

    @step(description="Publishes.", terminal=True)
    def publish(self) -> StepResult:
        return StepResult("it is out")
