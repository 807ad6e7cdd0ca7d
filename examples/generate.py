#!/usr/bin/env python3
"""Writes the example sessions beside this file: `python3 examples/generate.py` (`--check` only compares).

A story (stories/*.story.txt) is a list of steps: what the user says, what the agent thinks, says and does.
The steps run against a small model of a project (stories/*.files.txt): reads, searches, diffs, logs and test
listings are computed from the files as they are at that moment. A writer turns the steps into the records of
one client. Everything is seeded by the story and no clock is read: the same bytes come out on every run.
"""
import json, shutil, sys
from pathlib import Path

sys.dont_write_bytecode = True
from generator.claude import Claude
from generator.codex import Codex

HERE = Path(__file__).resolve().parent


def stories():
    """Every session, played. Later ones start from the project as an earlier one left it."""
    long = played(Claude("orchard-long"))
    short = played(Claude("orchard-short", long))
    chinese = played(Claude("orchard-zh", short))
    site = played(Codex("lantern-long"))
    pages = played(Codex("lantern-pages", site))
    pages.finish_turn()
    fork = played(Codex("lantern-fork", parent=pages))
    return [long, short, chinese, site, pages, fork]


def played(session):
    session.play()
    return session


def problems(path, text):
    """What is wrong with a written transcript: dangling parents, calls without results, gaps in numbering."""
    records = [json.loads(l) for l in text.splitlines()]
    if "codex" in path.parts:
        items = [r["payload"] for r in records if r["type"] == "response_item"]
        calls = [p["call_id"] for p in items if p["type"] in ("function_call", "custom_tool_call")]
        results = [p["call_id"] for p in items if p["type"].endswith("_output")]
        numbers = [r["ordinal"] for r in records if "ordinal" in r]
        if numbers and numbers != list(range(numbers[0], numbers[0] + len(records))):
            yield "the ordinals have gaps"
        allowed = 0
    else:
        known = {r["uuid"] for r in records if "uuid" in r}
        yield from (f"no parent {r['parentUuid']}" for r in records if r.get("parentUuid") and r["parentUuid"] not in known)
        blocks = [b for r in records if "message" in r and isinstance(r["message"]["content"], list) for b in r["message"]["content"]]
        calls = [b["id"] for b in blocks if b["type"] == "tool_use"]
        results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
        allowed = text.count("[Request interrupted by user for tool use]")
    if len(set(calls)) != len(calls) or set(results) - set(calls) or len(set(calls) - set(results)) != allowed:
        yield f"{len(calls)} calls, {len(results)} results"


def main():
    files = {}
    for session in stories():
        files |= session.write(HERE)
    bad = [f"{path.name}: {why}" for path, text in files.items() if path.suffix == ".jsonl" for why in problems(path, text)]
    if "--check" in sys.argv:
        bad += [f"{path.relative_to(HERE)} differs" for path, text in files.items() if not path.exists() or path.read_bytes() != text.encode()]
    elif not bad:
        for folder in ("claude", "codex"):
            shutil.rmtree(HERE / folder, ignore_errors=True)
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
            print(f"{len(text.encode()):>8} {path.relative_to(HERE)}")
    print("\n".join(bad) or f"{len(files)} files, no problems")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
