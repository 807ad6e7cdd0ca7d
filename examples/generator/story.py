"""Reads stories and project bundles: `%% kind argument` lines with a body below each."""
import shlex
from pathlib import Path

STORIES = Path(__file__).resolve().parent.parent / "stories"

class Step:
    """`%% kind arg` and the lines below it. `%%+` joins the tool call to the message before it."""
    def __init__(self, kind, arg, joined):
        self.kind, self.arg, self.joined, self.body = kind, arg, joined, ""


def steps_of(path):
    steps = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("%%"):
            joined = line.startswith("%%+")
            kind, _, arg = line.lstrip("%+").strip().partition(" ")
            steps.append(Step(kind, arg.strip(), joined))
        elif steps:
            steps[-1].body += line + "\n"
    for step in steps:
        if step.kind not in ("file", "write", "edit"):
            step.body = step.body.strip("\n")
    return nested(steps)


def nested(steps):
    """Puts the steps between `agent` and `end-agent` inside the agent step."""
    out, inner = [], None
    for step in steps:
        if step.kind == "end-agent":
            inner = None
        elif inner is not None:
            inner.append(step)
        else:
            out.append(step)
            if step.kind == "agent":
                inner = step.inner = []
    return out


def settings_of(step):
    return dict(part.split("=", 1) for part in shlex.split(step.arg))
