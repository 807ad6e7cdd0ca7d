"""Writes a story as the transcript of a Claude Code session."""
import base64, difflib, json

from .client import Client
from .media import chart_png

MODEL = "claude-opus-4-5-20251101"
NAMES = {"read": "Read", "grep": "Grep", "edit": "Edit", "write": "Write", "todo": "TodoWrite", "agent": "Task"}


class Claude(Client):
    def __init__(self, story, before=None):
        super().__init__(story, before)
        self.session, self.version = self.set["session"], self.set["version"]
        self.records, self.side_files, self.parent, self.slug = [], {}, None, None
        self.agent, self.todos, self.prompt, self.prompts, self.cached = None, [], None, 0, 0
        self.persisted, self.title = "", self.set["title"]

    # records
    def chained(self, kind, **fields):
        record = {"parentUuid": self.parent, "isSidechain": self.agent is not None, "type": kind}
        record |= {"agentId": self.agent} if self.agent else {}
        record |= fields
        record |= {"uuid": self.uuid(), "timestamp": self.now(), "userType": "external", "entrypoint": "cli", "cwd": self.cwd,
                   "sessionId": self.session, "version": self.version, "gitBranch": self.branch}
        record |= {"slug": self.slug} if self.slug else {}
        self.records.append(record)
        self.parent = record["uuid"]
        return record

    def loose(self, kind, **fields):
        self.records.append({"type": kind, **fields, "sessionId": self.session})

    def user(self, content, **fields):
        text = content if isinstance(content, str) else "".join(b.get("text", "x" * 1600) for b in content)
        self.context += self.tokens(text)
        return self.chained("user", message={"role": "user", "content": content}, **fields)

    # steps of the user and of the client itself
    def on_user(self, step, image=None):
        self.pass_time(20, 160)
        if self.title and self.prompts in (2, 9, 21):
            self.loose("ai-title", aiTitle=self.title)
        if self.prompts:
            self.loose("last-prompt", leafUuid=self.parent, lastPrompt=step.body[:80])
        content = step.body
        if image:
            data = base64.b64encode(image).decode()
            content = [{"type": "text", "text": step.body},
                       {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}]
        self.prompts, self.prompt, self.started = self.prompts + 1, self.uuid(), self.clock
        record = self.user(content, promptId=self.prompt, permissionMode="acceptEdits", promptSource="typed", origin={"kind": "human"})
        snapshot = {"messageId": record["uuid"], "trackedFileBackups": {
            path: {"backupFileName": f"{abs(hash_of(path)):016x}@v{n + 1}", "version": n + 1, "backupTime": self.now()}
            for n, (path, _) in enumerate(self.world.changed())}, "timestamp": self.now()}
        self.records.append({"type": "file-history-snapshot", "messageId": record["uuid"], "snapshot": snapshot, "isSnapshotUpdate": False})

    def on_image(self, step):
        self.on_user(step, chart_png([int(n) for n in step.arg.split(",")]))

    def on_queue(self, step):
        self.pass_time(2, 9)
        self.records.append({"type": "queue-operation", "operation": "enqueue", "timestamp": self.now(),
                             "sessionId": self.session, "content": step.body})
        if step.arg == "later":
            return
        self.pass_time(1, 3)
        self.records.append({"type": "queue-operation", "operation": "remove", "timestamp": self.now(), "sessionId": self.session})
        self.attach("queued_command", "<system-reminder>\nSent by the user during this turn:\n" + step.body + "\n</system-reminder>",
                    prompt=step.body, commandMode="prompt", origin={"kind": "human"})

    def on_dequeue(self, step):
        self.records.append({"type": "queue-operation", "operation": "dequeue", "timestamp": self.now(), "sessionId": self.session})

    def attach(self, kind, rendered, role="system", **fields):
        self.context += self.tokens(rendered)
        self.chained("attachment", attachment={"type": kind, **fields}, rendered=[{"content": rendered}], renderedRole=role)

    def on_attach(self, step):
        kind, _, arg = step.arg.partition(" ")
        fields = {"date": {"newDate": arg}, "file": {"filename": f"{self.cwd}/{arg}", "displayPath": arg},
                  "environment": {"snapshot": {"workingDirectory": self.cwd, "isGitRepo": True, "platform": "linux", "shell": "bash"}},
                  "instructions": {"path": f"{self.cwd}/CLAUDE.md"},
                  "hook_additional_context": {"hookName": "PostToolUse", "hookEvent": "PostToolUse", "content": [step.body]}}
        body = step.body or f"Contents of {arg}:\n" + self.world.files.get(arg or "CLAUDE.md", "")
        self.attach(kind, f"<system-reminder>\n{body}\n</system-reminder>", "user" if kind in ("file", "instructions") else "system", **fields[kind])

    def on_slash(self, step):
        name, _, rest = step.arg.partition(" ")
        self.user("<local-command-caveat>What follows was run by the user in the client; it asks for no answer.</local-command-caveat>", isMeta=True)
        self.user(f"<command-name>{name}</command-name>\n<command-message>{name[1:]}</command-message>\n<command-args>{rest}</command-args>")
        self.user(f"<local-command-stdout>{step.body}</local-command-stdout>")

    def on_version(self, step):
        self.version = step.arg

    def on_branch(self, step):
        self.branch = step.arg

    def on_rewind(self, step):
        saved, self.parent, self.context = self.marks[step.arg]
        self.world.restore(saved)
        self.cached = min(self.cached, self.context)

    def on_interrupt(self, step):
        self.pass_time(3, 14)
        self.user([{"type": "text", "text": "[Request interrupted by user for tool use]"}])

    def on_api_error(self, step):
        for attempt in range(1, 4):
            self.pass_time(1, 4)
            self.chained("system", subtype="api_error", level="error", retryAttempt=attempt, maxRetries=10, retryInMs=600 * 2 ** attempt,
                         error={"status": 529, "type": "overloaded_error"})
        zero = {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        self.chained("assistant", message={"id": self.uuid(), "model": "<synthetic>", "role": "assistant", "type": "message",
                     "stop_reason": "stop_sequence", "stop_sequence": "", "usage": zero, "content": [{"type": "text", "text": step.body}]},
                     error="overloaded", isApiErrorMessage=True, apiErrorStatus=529)

    def on_compact(self, step):
        """Old style: the whole view is replaced. New style: the newest messages are kept and named."""
        style, trigger, keep = step.arg.split()
        before, last = self.context, self.parent
        self.pass_time(25, 70)
        meta = {"trigger": trigger, "preTokens": before}
        tail = [r for r in self.records if r["type"] in ("user", "assistant", "attachment") and not r["isSidechain"]][-int(keep):] if int(keep) else []
        while tail and not (tail[0]["type"] == "assistant" and tail[0]["message"]["id"] != self.before(tail[0])):
            tail.pop(0)
        self.slug, self.parent = self.set["slug"], None
        boundary = self.chained("system", subtype="compact_boundary", content="Conversation compacted", isMeta=False, level="info",
                                compactMetadata=meta, logicalParentUuid=last)
        kept = sum(self.tokens(json.dumps(r["message"]["content"], ensure_ascii=False)) for r in tail if "message" in r)
        self.context = int(self.set.get("base", 14_000)) + kept
        summary = self.user(step.body, isVisibleInTranscriptOnly=True, isCompactSummary=True)
        if style == "new":
            uuids, anchor = [r["uuid"] for r in tail], summary["uuid"]
            meta |= {"postTokens": self.context, "cumulativeDroppedTokens": before - self.context, "durationMs": self.rng.randint(21_000, 64_000),
                     "preservedSegment": {"headUuid": uuids[0], "anchorUuid": anchor, "tailUuid": uuids[-1]},
                     "preservedMessages": {"anchorUuid": anchor, "uuids": uuids, "allUuids": uuids}}
        boundary["compactMetadata"] = meta
        self.cached = int(self.set.get("base", 14_000))

    def before(self, record):
        older = [r for r in self.records[:self.records.index(record)] if r["type"] == "assistant"]
        return older[-1]["message"]["id"] if older else None

    # messages of the model
    def message(self, group, interrupted, more):
        ident, request = self.base62("msg_01", 22), self.base62("req_011", 21)
        blocks = []
        for step in group:
            if step.kind == "think":
                blocks.append({"type": "thinking", "thinking": step.body, "signature": self.opaque(120, 260)})
            elif step.kind == "say":
                blocks.append({"type": "text", "text": step.body})
            else:
                blocks.append({"type": "tool_use", "id": self.base62("toolu_01", 22), "name": NAMES.get(step.kind, "Bash"), "input": self.input_of(step)})
        out = sum(self.tokens(json.dumps(b, ensure_ascii=False)) for b in blocks)
        read, fresh = self.cached, max(self.context - self.cached - 4, 0)
        usage = {"input_tokens": 4, "cache_creation_input_tokens": fresh, "cache_read_input_tokens": read, "output_tokens": out,
                 "cache_creation": {"ephemeral_5m_input_tokens": fresh, "ephemeral_1h_input_tokens": 0}, "service_tier": "standard"}
        self.cached = self.context
        self.context += out
        owner = {}
        for block in blocks:
            self.pass_time(.6, 5)
            record = self.chained("assistant", message={"model": MODEL, "id": ident, "type": "message", "role": "assistant", "content": [block],
                                  "stop_reason": "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn", "stop_sequence": None,
                                  "usage": usage}, requestId=request)
            owner[block.get("id")] = record["uuid"]
        calls = [(s, b) for s, b in zip(group, blocks) if b["type"] == "tool_use"]
        if interrupted:
            calls = calls[:-1]
        for step, block in calls:
            self.result(step, block, owner[block["id"]])
        if not calls and not interrupted and not more:
            self.pass_time(.1, .3)
            self.chained("system", subtype="turn_duration", durationMs=int((self.clock - self.started).total_seconds() * 1000), isMeta=False)

    def input_of(self, step):
        path = f"{self.cwd}/{step.arg.split(' ')[0]}"
        if step.kind == "read":
            start, count = self.span(step)
            return {"file_path": path} | ({"offset": start, "limit": count} if " " in step.arg else {})
        if step.kind == "grep":
            pattern, _, glob = step.arg.partition(" in ")
            return {"pattern": pattern, "output_mode": "content", "-n": True} | ({"glob": glob} if glob else {})
        if step.kind == "edit":
            old, new = (part.strip("\n") for part in step.body.split("\n====\n"))
            return {"file_path": path, "old_string": old, "new_string": new, "replace_all": False}
        if step.kind == "write":
            return {"file_path": path, "content": step.body}
        if step.kind == "todo":
            names = {"x": "completed", ">": "in_progress", " ": "pending"}
            return {"todos": [{"content": l[4:], "status": names[l[1]], "activeForm": l[4:]} for l in step.body.splitlines()]}
        if step.kind == "agent":
            kind, _, title = step.arg.partition(" ")
            return {"description": title, "prompt": step.body, "subagent_type": kind}
        step.arg = step.arg.replace("$PERSISTED", self.persisted)
        command = step.arg if step.kind.startswith("bash") else {"test": f"cargo test {step.arg}".strip(),
                                                                 "soak": f"cargo run --release --example soak -- {step.arg.split(' ')[0]}"}[step.kind]
        return {"command": command, "description": {"test": "Run the tests", "soak": "Run the soak example"}.get(step.kind, describe(command))}

    @staticmethod
    def span(step):
        parts = step.arg.split(" ")
        return (int(parts[1]), int(parts[2])) if len(parts) == 3 else (1, 2000)

    def result(self, step, block, owner):
        """Runs the step and records its result under the assistant record that asked for it."""
        given, error, path = block["input"], None, step.arg.split(" ")[0]
        self.pass_time(.05, .4)
        if step.kind == "read":
            start, count = self.span(step)
            text = self.world.numbered(path, start, count)
            lines = self.world.files[path].splitlines()
            shown = lines[start - 1:start - 1 + count]
            extra = {"type": "text", "file": {"filePath": given["file_path"], "content": "\n".join(shown), "numLines": len(shown),
                                              "startLine": start, "totalLines": len(lines)}}
        elif step.kind == "grep":
            hits = self.world.grep(given["pattern"], given.get("glob", "*"))
            text = "\n".join(hits) or "No matches found"
            names = sorted({h.split(":")[0] for h in hits})
            extra = {"mode": "content", "numFiles": len(names), "filenames": names, "content": text, "numLines": len(hits)}
        elif step.kind in ("edit", "write"):
            old = self.world.files.get(path)
            if step.kind == "edit":
                self.world.replace(path, given["old_string"], given["new_string"])
            else:
                self.world.files[path] = step.body
            new = self.world.files[path]
            text = f"The file {given['file_path']} has been updated." if old is not None else f"File created at: {given['file_path']}"
            extra = {"filePath": given["file_path"], "structuredPatch": patch_of(old or "", new) if old is not None else [],
                     "originalFile": old if self.version < "2.1.2" else None, "userModified": False}
            extra |= {"oldString": given["old_string"], "newString": given["new_string"], "replaceAll": False} if step.kind == "edit" else {
                "type": "create" if old is None else "update", "content": step.body}
        elif step.kind == "todo":
            text, extra = "Todo list updated.", {"oldTodos": self.todos, "newTodos": given["todos"]}
            self.todos = given["todos"]
        elif step.kind == "agent":
            return self.run_agent(step, block, owner)
        else:
            command, text, status = self.output_of(step)
            if step.kind in ("test", "soak"):
                self.progress(block["id"], text)
            extra = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
            if len(text) > 30_000:
                text, extra = self.persist(block["id"], text, extra)
            if status:
                text, error = f"Exit code {status}\n{text}", True
                extra = "Error: " + text
            else:
                error = False
        answer = {"tool_use_id": block["id"], "type": "tool_result", "content": text} | ({} if error is None else {"is_error": error})
        self.parent = owner
        self.user([answer], toolUseResult=extra, sourceToolAssistantUUID=owner, promptId=self.prompt)

    def persist(self, ident, text, extra):
        place = f"/home/ada/.claude/projects/{self.cwd.replace('/', '-')}/{self.session}/tool-results/{ident}.txt"
        self.side_files[f"tool-results/{ident}.txt"], self.persisted = text, place
        short = (f"<persisted-output>\nOutput too large ({len(text) / 1024:.1f}KB). Full output saved to: {place}\n\n"
                 f"Preview (first 2KB):\n{text[:2000]}\n...\n</persisted-output>")
        return short, extra | {"stdout": text[:2000], "persistedOutputPath": place, "persistedOutputSize": len(text.encode())}

    def progress(self, ident, text):
        lines = text.splitlines()
        for n in range(self.rng.randint(1, 2)):
            self.pass_time(1, 2)
            shown = lines[:(n + 1) * 2]
            self.chained("progress", data={"type": "bash_progress", "output": "\n".join(shown[-5:]), "fullOutput": "\n".join(shown),
                         "elapsedTimeSeconds": n + 2, "totalLines": len(shown)}, toolUseID=f"bash-progress-{n}", parentToolUseID=ident)

    def run_agent(self, step, block, owner):
        """A helper's own conversation goes to a file of its own; the parent gets its last words."""
        main, self.records, self.parent, outer = self.records, [], None, (self.context, self.cached)
        self.agent, self.context, self.cached = self.hexes(7), 6_000, 0
        self.user(step.body)
        self.steps = step.inner
        self.play()
        inner, ident = [r for r in self.records if r.get("subtype") != "turn_duration"], self.agent
        words, spent = inner[-1]["message"]["content"][0]["text"], self.context
        self.side_files[f"subagents/agent-{ident}.jsonl"] = "".join(line(r) for r in inner)
        self.side_files[f"subagents/agent-{ident}.meta.json"] = json.dumps({"agentType": block["input"]["subagent_type"]}) + "\n"
        self.records, self.agent, self.parent, (self.context, self.cached) = main, None, owner, outer
        calls = sum(r["type"] == "assistant" and r["message"]["content"][0]["type"] == "tool_use" for r in inner)
        self.chained("progress", data={"type": "agent_progress", "agentId": ident, "prompt": step.body, "message": {
            "type": "assistant", "uuid": inner[-1]["uuid"], "timestamp": inner[-1]["timestamp"], "message": inner[-1]["message"]}},
            toolUseID=f"agent_{block['id']}", parentToolUseID=block["id"])
        self.parent = owner
        self.user([{"tool_use_id": block["id"], "type": "tool_result", "content": [{"type": "text", "text": words},
                   {"type": "text", "text": f"agentId: {ident}"}]}], sourceToolAssistantUUID=owner, promptId=self.prompt,
                  toolUseResult={"status": "completed", "prompt": step.body, "agentId": ident, "content": [{"type": "text", "text": words}],
                                 "totalDurationMs": 48_211, "totalTokens": spent, "totalToolUseCount": calls})

    def write(self, root):
        self.loose("ai-title", aiTitle=self.title)
        folder = root / "claude" / "projects" / self.cwd.replace("/", "-")
        files = {f"{self.session}.jsonl": "".join(line(r) for r in self.records)}
        files |= {f"{self.session}/{name}": text for name, text in self.side_files.items()}
        return {folder / name: text for name, text in files.items()}


def line(record):
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


def hash_of(text):
    return int.from_bytes(text.encode()[-8:].rjust(8, b"\1"), "big") >> 1


def describe(command):
    known = {"git status": "Show the working tree", "git diff": "Show the changes", "git log": "Show recent commits", "git commit": "Commit the change",
             "git add": "Commit the change", "cargo clippy": "Run clippy", "cargo build": "Build", "cargo fmt": "Format", "ls": "List files",
             "wc": "Count lines", "grep": "Search the saved output", "cat": "Show the file"}
    return next((text for start, text in known.items() if command.startswith(start)), "Run " + command.split(" ")[0])


def patch_of(old, new):
    hunks = []
    for l in list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=3))[2:]:
        if l.startswith("@@"):
            (a, b), (c, d) = ([int(n) for n in (part[1:] + ",1").split(",")[:2]] for part in l.split(" ")[1:3])
            hunks.append({"oldStart": a, "oldLines": b, "newStart": c, "newLines": d, "lines": []})
        else:
            hunks[-1]["lines"].append(l)
    return hunks
