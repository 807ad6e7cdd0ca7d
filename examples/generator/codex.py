"""Writes a story as a rollout of the Codex CLI, in the older form or numbered ("paginated")."""
import difflib, json

from .claude import line
from .client import Client

WINDOW = 258_400


class Codex(Client):
    def __init__(self, story, before=None, parent=None):
        super().__init__(story, parent or before)
        self.thread, self.lines, self.turn, self.numbered = self.set["session"], [], None, self.set["format"] == "paginated"
        self.model, self.total, self.cached, self.history, self.window = self.set["model"], dict.fromkeys(USAGE, 0), 0, [], 1
        self.first, self.parent_thread = 0, parent
        self.turn_usage, self.spoken = dict.fromkeys(USAGE, 0), ""
        if parent:
            self.context, self.first = parent.context, parent.first + len(parent.lines)
            self.total = dict(parent.total)
        self.meta()

    # lines
    def put(self, kind, payload, **more):
        number = {"ordinal": self.first + len(self.lines)} if self.numbered else {}
        self.lines.append({"timestamp": self.now(), **number, "type": kind, "payload": payload, **more})

    def event(self, kind, **fields):
        self.put("event_msg", {"type": kind, **fields})

    def item(self, kind, **fields):
        payload = {"type": kind, **fields}
        if self.turn:
            payload["internal_chat_message_metadata_passthrough"] = {"turn_id": self.turn}
        self.put("response_item", payload)
        if kind == "message" and fields["role"] == "user":
            self.history.append({"type": "message", "role": "user", "content": fields["content"]})
        return payload

    def completed(self, kind, **fields):
        """Numbered rollouts keep finished turn items instead of the older events."""
        if self.numbered:
            self.event("item_completed", thread_id=self.thread, turn_id=self.turn, item={"type": kind, "id": self.uuid7(), **fields},
                       completed_at_ms=int(self.clock.timestamp() * 1000))

    def meta(self):
        meta = {"session_id": self.thread, "id": self.thread, "timestamp": self.now(), "cwd": self.cwd, "originator": "codex-tui",
                "cli_version": self.set["version"], "source": "cli", "thread_source": "user", "model_provider": "openai",
                "base_instructions": {"text": "You are a coding agent. (The instructions of the real client are left out of this example.)"},
                "git": {"commit_hash": self.world.commits[-1][0], "branch": self.branch, "repository_url": "https://git.example.com/noor/lantern.git"}}
        meta |= {"history_mode": "paginated"} if self.numbered else {}
        if self.parent_thread:
            size = len("".join(line(l) for l in self.parent_thread.lines).encode())
            meta |= {"forked_from_id": self.parent_thread.thread, "forked_from_ordinal_exclusive": self.first, "history_base": {
                "thread_id": self.parent_thread.thread, "end_ordinal_exclusive": self.first, "end_byte_offset": size}}
        self.put("session_meta", meta)

    def bundle(self):
        """What a new context starts with: rules for the agent, the project's AGENTS.md, the environment."""
        rules = "<permissions instructions>\nThe sandbox allows writing in the workspace. Network is off.\n</permissions instructions>"
        agents = f"# AGENTS.md instructions for {self.cwd}\n\n<INSTRUCTIONS>\n{self.world.files['AGENTS.md']}</INSTRUCTIONS>"
        place = (f"<environment_context>\n  <cwd>{self.cwd}</cwd>\n  <shell>bash</shell>\n  <current_date>{self.now()[:10]}</current_date>\n"
                 "  <timezone>Europe/Stockholm</timezone>\n</environment_context>")
        return ({"type": "message", "role": "developer", "content": [{"type": "input_text", "text": rules}]},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": t} for t in (agents, place)]})

    # turns
    def on_user(self, step):
        self.finish_turn()
        self.pass_time(25, 240)
        self.turn, self.started, self.turn_usage = self.uuid7(), self.clock, dict.fromkeys(USAGE, 0)
        self.event("task_started", turn_id=self.turn, started_at=int(self.clock.timestamp()), model_context_window=WINDOW, collaboration_mode_kind="default")
        if not self.history and not self.parent_thread:
            for message in self.bundle():
                self.item("message", role=message["role"], content=message["content"])
                self.context += sum(self.tokens(c["text"]) for c in message["content"])
            self.history.clear()
            if self.numbered:
                self.put("world_state", {"full": True, "state": {"agents_md": {"directory": self.cwd, "text": self.world.files["AGENTS.md"]},
                         "environments": {"current_date": self.now()[:10], "timezone": "Europe/Stockholm"}}})
        self.context_line()
        self.item("message", role="user", content=[{"type": "input_text", "text": step.body}])
        self.context += self.tokens(step.body)
        if self.numbered:
            self.completed("UserMessage", content=[{"type": "text", "text": step.body, "text_elements": []}])
        else:
            self.event("user_message", message=step.body, images=[], local_images=[], text_elements=[])

    def context_line(self):
        self.put("turn_context", {"turn_id": self.turn, "cwd": self.cwd, "workspace_roots": [self.cwd], "current_date": self.now()[:10],
                 "timezone": "Europe/Stockholm", "approval_policy": "on-request", "sandbox_policy": {"type": "workspace-write"},
                 "model": self.model, "personality": "pragmatic", "effort": "medium", "summary": "auto"})

    def finish_turn(self):
        if self.turn:
            self.event("task_complete", turn_id=self.turn, last_agent_message=self.spoken, completed_at=int(self.clock.timestamp()),
                       duration_ms=int((self.clock - self.started).total_seconds() * 1000))
        self.turn = None

    def on_abort(self, step):
        self.pass_time(.2, .6)
        text = "<turn_aborted>\nThe user stopped this turn. Commands that were running may have done part of their work.\n</turn_aborted>"
        self.item("message", role="user", content=[{"type": "input_text", "text": text}])
        self.history.pop()
        self.event("turn_aborted", turn_id=self.turn, reason="interrupted", completed_at=int(self.clock.timestamp()),
                   duration_ms=int((self.clock - self.started).total_seconds() * 1000))
        self.turn = None

    def on_rollback(self, step):
        self.finish_turn()
        self.pass_time(5, 20)
        self.event("thread_rolled_back", num_turns=int(step.arg))
        del self.history[-int(step.arg):]

    def on_compact(self, step):
        """The newest user messages stay word for word; a summary stands for the rest."""
        self.pass_time(12, 30)
        summary = "Notes of the agent that worked on this before you:\n" + step.body
        kept = list(self.history) + list(self.bundle()) + [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": summary}]}]
        self.put("compacted", {"message": summary, "replacement_history": kept, "window_id": self.window})
        self.window += 1
        self.completed("ContextCompaction")
        if not self.numbered:
            self.event("context_compacted")
        self.context = int(self.set["base"]) + sum(self.tokens(c["text"]) for m in kept for c in m["content"])
        self.cached = int(self.set["base"])

    # messages of the model
    def message(self, group, interrupted, more):
        spent, calls, request = 0, [], self.context
        self.pass_time(1.5, 6)
        for step in group:
            last = step is group[-1]
            if step.kind == "think" or step is group[0] and step.kind != "say":
                title = step.body if step.kind == "think" else ""
                self.item("reasoning", id="rs_" + self.hexes(48), summary=[{"type": "summary_text", "text": title}] if title else [],
                          encrypted_content=self.opaque(180, 420))
                spent += 60 + self.tokens(title)
                if title and not self.numbered:
                    self.event("agent_reasoning", text=title)
                if step.kind == "think":
                    continue
            self.pass_time(.4, 2)
            if step.kind == "say":
                phase = "final_answer" if last and not more else "commentary"
                if self.numbered:
                    self.completed("AgentMessage", content=[{"type": "Text", "text": step.body}], phase=phase)
                else:
                    self.event("agent_message", message=step.body, phase=phase, memory_citation=None)
                self.item("message", id="msg_" + self.hexes(48), role="assistant", content=[{"type": "output_text", "text": step.body}], phase=phase)
                self.spoken, spent = step.body, spent + self.tokens(step.body)
            else:
                calls.append((step, *self.call(step)))
                spent += self.tokens(json.dumps(self.lines[-1]["payload"].get("arguments", self.lines[-1]["payload"].get("input", ""))))
        self.count(request, spent)
        self.context += spent
        for step, ident, arguments in calls:
            self.answer(step, ident, arguments, interrupted and step is calls[-1][0])

    def count(self, request, spent):
        """The usage of one request, in the form that this kind of rollout has."""
        usage = dict(zip(USAGE, (request, min(self.cached, request), spent, min(60, spent), request + spent)))
        self.cached = request
        for key in USAGE:
            self.total[key] += usage[key]
            self.turn_usage[key] += usage[key]
        if self.numbered:
            self.put("token_usage_record", {"usage": usage, "turn_token_usage": dict(self.turn_usage), "thread_token_usage": dict(self.total),
                     "response_id": "resp_" + self.hexes(48)})
        self.event("token_count", info={"total_token_usage": dict(self.total), "last_token_usage": usage, "model_context_window": WINDOW},
                   rate_limits=None)

    def call(self, step):
        ident, path = self.base62("call_", 24), step.arg.split(" ")[0]
        if step.kind == "search":
            self.item("web_search_call", status="completed", action={"type": "search", "query": step.arg, "queries": [step.arg]})
            if not self.numbered:
                self.event("web_search_end", call_id="ws_" + self.hexes(48), query=step.arg, action={"type": "search", "query": step.arg})
            return None, None
        if step.kind in ("edit", "write"):
            old = self.world.files.get(path)
            new = step.body if step.kind == "write" else old.replace(*self.edit_of(step, old))
            patch = patch_of(path, old, new)
            self.item("custom_tool_call", id="ctc_" + self.hexes(48), status="completed", call_id=ident, name="apply_patch", input=patch)
            return ident, (path, old, new)
        if step.kind == "todo":
            names = {"x": "completed", ">": "in_progress", " ": "pending"}
            plan = {"plan": [{"step": l[4:], "status": names[l[1]]} for l in step.body.splitlines()]}
            self.item("function_call", id="fc_" + self.hexes(48), name="update_plan", arguments=json.dumps(plan), call_id=ident)
            return ident, plan
        command = self.command_of(step)
        arguments = json.dumps({"cmd": command, "workdir": self.cwd, "yield_time_ms": 10000, "max_output_tokens": 10000})
        self.item("function_call", id="fc_" + self.hexes(48), name="exec_command", arguments=arguments, call_id=ident)
        return ident, command

    @staticmethod
    def edit_of(step, text):
        old, new = (part.strip("\n") for part in step.body.split("\n====\n"))
        if text.count(old) != 1:
            raise SystemExit(f"{step.arg}: the text to replace occurs {text.count(old)} times:\n{old}")
        return old, new

    def command_of(self, step):
        if step.kind == "read":
            return f"sed -n '1,240p' {step.arg}"
        if step.kind == "grep":
            pattern, _, glob = step.arg.partition(" in ")
            return f"rg -n '{pattern}'" + (f" -g '{glob}'" if glob else "")
        if step.kind == "test":
            return "python -m unittest -v" + (f" tests.{step.arg}" if step.arg else "")
        return self.many_pages(1)[0].replace("many.py 1 ", f"many.py {step.arg} ") if step.kind == "build" else step.arg

    def answer(self, step, ident, arguments, aborted):
        if step.kind == "search":
            return
        self.pass_time(.05, .9)
        if step.kind in ("edit", "write"):
            path, old, new = arguments
            self.world.files[path] = new
            text = f"Success. Updated the following files:\n{'A' if old is None else 'M'} {path}\n"
            change = {"type": "add", "content": new} if old is None else {"type": "update", "unified_diff": self.world.diff({path: old}, {path: new}).split("\n", 3)[3], "move_path": None}
            if self.numbered:
                self.completed("FileChange", changes={f"{self.cwd}/{path}": change}, status="completed")
            else:
                self.event("patch_apply_end", call_id=ident, turn_id=self.turn, stdout=text, stderr="", success=True,
                           changes={f"{self.cwd}/{path}": change}, status="completed")
            self.item("custom_tool_call_output", call_id=ident, output=f"Exit code: 0\nWall time: 0 seconds\nOutput:\n{text}")
        elif step.kind == "todo":
            text = "Plan updated"
            self.item("function_call_output", call_id=ident, output=text)
        elif aborted:
            self.pass_time(6, 12)
            self.item("function_call_output", call_id=ident, output=f"aborted by user after {self.rng.uniform(6, 12):.1f}s")
            return
        else:
            if step.kind == "read":
                text, status = self.world.files[step.arg].rstrip("\n"), 0
            elif step.kind == "grep":
                pattern, _, glob = step.arg.partition(" in ")
                text, status = "\n".join(self.world.grep(pattern, glob or "*")), 0
            else:
                _, text, status = self.output_of(step)
            head = f"Chunk ID: {self.hexes(6)}\nWall time: {self.rng.uniform(.02, 1.9):.4f} seconds\nProcess exited with code {status}\n"
            shown = shorten(text)
            self.completed("CommandExecution", command=["bash", "-lc", arguments], cwd=self.cwd, aggregated_output=text, exit_code=status, status="completed")
            self.item("function_call_output", call_id=ident, output=f"{head}Original token count: {self.tokens(text)}\nOutput:\n{shown}")
            text = shown
        self.context += self.tokens(text)

    def write(self, root):
        self.finish_turn()
        day = self.lines[0]["timestamp"]
        name = f"rollout-{day[:19].replace(':', '-')}-{self.thread}.jsonl"
        return {root / "codex" / "sessions" / day[:4] / day[5:7] / day[8:10] / name: "".join(line(l) for l in self.lines)}


USAGE = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens", "total_tokens")
LIMIT = 40_000


def shorten(text):
    if len(text) <= LIMIT:
        return text
    cut = len(text) - LIMIT
    return f"Total output lines: {text.count(chr(10)) + 1}\n\n{text[:LIMIT // 2]}…{cut // 4} tokens truncated…{text[-LIMIT // 2:]}"


def patch_of(path, old, new):
    """The change in the form that apply_patch takes."""
    if old is None:
        body = [f"*** Add File: {path}"] + ["+" + l for l in new.splitlines()]
    else:
        diff = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=3))[2:]
        body = [f"*** Update File: {path}"] + ["@@" if l.startswith("@@") else l for l in diff]
    return "\n".join(["*** Begin Patch", *body, "*** End Patch"]) + "\n"
