#!/usr/bin/env python3
"""How near do token counts come to the usage that providers report, and which coefficients come nearest?

    cargo build --release -p throughline-core --example tokens
    python3 bench/fit_tokens.py TRANSCRIPTS [--counter target/release/examples/tokens]

TRANSCRIPTS holds `claude/*.jsonl` (Claude Code) and `codex/*.jsonl` (Codex rollouts). Needs numpy.

What is fitted: the growth of the prompt from one request to the next. The system prompt and the tools are the same
in both, so they cancel; what remains is the answer in between and what came after it. Growth over a compaction,
with pictures, with unpaired calls, or with recorded attachments whose text is unknown is left out. What clients
add without recording it can't be left out: it makes growth larger than the texts explain, which is why the fit is
robust (Huber) and why its sums stay 1-2% low. Text statistics and counts come from the Rust code, through the
`tokens` example.
"""
import argparse, collections, glob, json, os, subprocess
import numpy as np

ASK = None


def ask(questions):
    """Sends JSON lines through the `tokens` example."""
    lines = "".join(json.dumps(q) + "\n" for q in questions)
    done = subprocess.run([ASK], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def shipped(steps):
    """Tokens of each step by the real counter, one message for each list of blocks."""
    answers = iter(ask([{"model": s["model"], "role": role, "blocks": blocks} for s in steps for role, blocks in
                        s["messages"]]))
    return np.array([sum(next(answers)["tokens"] for _ in s["messages"]) for s in steps], float)


def records(path):
    for line in open(path, encoding="utf-8"):
        try:
            yield json.loads(line)
        except ValueError:
            yield {"type": "unreadable"}


def step(session, model, grown, prompt):
    return {"session": session, "model": model, "grown": grown, "prompt": prompt, "ok": grown > 0,
            "texts": [], "messages": [], "n": collections.Counter()}


def add(s, block, role="assistant"):
    s["messages"].append((role, [block]))


# --- Claude Code ------------------------------------------------------------------------------------------------

SEEN_BY_NO_MODEL = {"hook_success", "hook_system_message", "command_permissions"}


def claude_steps(path):
    session, answers, order = os.path.basename(path)[:-6], {}, []
    lines = list(records(path))
    parents = {r["uuid"]: r.get("parentUuid") for r in lines if "uuid" in r}
    for at, r in enumerate(lines):
        if r.get("type") == "assistant" and not r.get("isSidechain") and r["message"].get("model") != "<synthetic>":
            u = r["message"]["usage"]
            prompt = sum(u.get(k) or 0 for k in
                         ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"))
            if r["message"]["id"] not in answers:
                order.append(r["message"]["id"])
                answers[order[-1]] = {"first": at, "prompt": prompt, "records": []}
            answers[r["message"]["id"]]["records"].append(r)
    for a, b in zip((answers[i] for i in order), (answers[i] for i in order[1:])):
        s = step(session, a["records"][0]["message"]["model"], b["prompt"] - a["prompt"], b["prompt"])
        own, up = {r["uuid"] for r in a["records"]}, lines[b["first"]]["uuid"]
        while up is not None and up not in own:
            up = parents.get(up)
        s["ok"] &= up is not None  # else the user went back and took another branch
        s["ok"] &= a["records"][0]["message"]["model"] == b["records"][0]["message"]["model"]
        calls, results = set(), set()
        for block in (block for r in a["records"] for block in r["message"]["content"]):
            claude_block(s, block, calls, results)
        for r in lines[a["first"]:b["first"]]:
            if r.get("type") == "attachment" and r["attachment"]["type"] not in SEEN_BY_NO_MODEL:
                s["ok"] = False
            if "compact" in str(r.get("subtype")) or r.get("isCompactSummary"):
                s["ok"] = False
            if r.get("type") == "user" and not r.get("isVisibleInTranscriptOnly"):
                content = r["message"]["content"]
                for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
                    s["n"]["turn"] += block["type"] == "text"
                    claude_block(s, block, calls, results)
        s["ok"] &= calls == results
        yield s


def claude_block(s, block, calls, results):
    kind = block["type"]
    if kind == "text":
        s["n"]["text"] += 1
        s["texts"].append(block["text"])
        add(s, {"type": "text", "text": block["text"]})
    elif kind == "thinking":
        seal = block.get("signature") or ""
        s["n"]["reasoning"] += 1
        s["n"]["seal"] += len(seal)
        add(s, {"type": "reasoning", "text": block.get("thinking", ""), "seal": seal})
    elif kind == "tool_use":
        calls.add(block["id"])
        s["n"]["call"] += 1
        s["n"]["parameter"] += len(block["input"])
        s["texts"].append(block["name"])
        for name, value in block["input"].items():
            s["texts"] += [name, value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))]
        add(s, {"type": "tool_call", "id": block["id"], "name": block["name"], "input": {"json": block["input"]}})
    elif kind == "tool_result":
        results.add(block["tool_use_id"])
        parts = block.get("content") or ""
        parts = [{"type": "text", "text": parts}] if isinstance(parts, str) else parts
        s["ok"] &= all(p["type"] == "text" for p in parts)
        texts = [p.get("text", "") for p in parts]
        s["texts"] += texts
        add(s, {"type": "tool_result", "id": block["tool_use_id"], "content": "\n".join(texts)})
    else:
        s["ok"] = False


# --- Codex ------------------------------------------------------------------------------------------------------


def codex_steps(path):
    """Steps inside a turn: when the user speaks again, the provider drops the reasoning of the turn before."""
    session, parts, items, odd, total = os.path.basename(path)[:-6], [], [], False, None
    for r in records(path):
        p = r.get("payload") or {}
        odd |= r["type"] in ("compacted", "unreadable")
        if r["type"] == "response_item":
            items.append(p)
        info = (p.get("info") or {}) if p.get("type") == "token_count" else {}
        if info.get("last_token_usage") and info["total_token_usage"]["total_tokens"] != total:
            total = info["total_token_usage"]["total_tokens"]
            parts.append((items, info["last_token_usage"], odd))
            items, odd = [], False
    speaks = lambda i: i["type"] == "message" and i["role"] != "assistant"
    for (items, u, odd), (after, v, odd_after) in zip(parts, parts[1:]):
        s = step(session, "gpt-5.5", v["input_tokens"] - u["input_tokens"], v["input_tokens"])
        s["ok"] &= not (odd or odd_after or (after and speaks(after[0])))
        while items and speaks(items[0]):
            items = items[1:]
        s["n"]["reasoning_tokens"] = u["reasoning_output_tokens"]
        for i in items:
            codex_item(s, i)
        yield s


def codex_item(s, i):
    kind = i["type"]
    if kind == "message":
        s["n"]["answer" if i["role"] == "assistant" else "message"] += 1
        s["ok"] &= all("text" in c for c in i["content"])
        texts = [c.get("text", "") for c in i["content"]]
        s["texts"] += texts
        s["messages"].append((i["role"], [{"type": "text", "text": t} for t in texts]))
    elif kind in ("function_call", "custom_tool_call"):
        free = kind == "custom_tool_call"
        s["n"]["free_call" if free else "call"] += 1
        given = i["input"] if free else i["arguments"]
        s["texts"] += [i["name"], given]
        add(s, {"type": "tool_call", "id": i["call_id"], "name": i["name"],
                "call_kind": "custom" if free else "function", "input": {"text" if free else "json_text": given}})
    elif kind in ("function_call_output", "custom_tool_call_output"):
        s["n"]["result"] += 1
        s["ok"] &= isinstance(i["output"], str)
        s["texts"].append(i["output"] if isinstance(i["output"], str) else "")
        add(s, {"type": "tool_result", "id": i["call_id"], "content": s["texts"][-1]}, "tool")
    elif kind == "reasoning":
        s["n"]["reasoning"] += 1
        add(s, {"type": "reasoning", "text": "", "seal": i.get("encrypted_content") or ""})
    else:
        s["ok"] = False


# --- fitting ----------------------------------------------------------------------------------------------------


def non_negative(A, b, weights):
    """Least squares; columns that would go below zero are dropped, worst first."""
    root, size, free = np.sqrt(weights), np.sqrt((A * A).sum(0)) + 1e-9, np.ones(A.shape[1], bool)
    while True:
        x = np.zeros(A.shape[1])
        if free.any():
            x[free] = np.linalg.lstsq((A * root[:, None])[:, free] / size[free], b * root, rcond=1e-10)[0] / size[free]
        if (x >= 0).all():
            return x
        free &= x * size > (x * size).min()


def huber(A, b):
    """Errors count in full up to 20 tokens and 5%, and then by their size, not its square."""
    scale = 20 + 0.05 * b
    weights = 1 / scale**2
    for _ in range(40):
        x = non_negative(A, b, weights)
        weights = np.minimum(1, 1 / np.maximum(np.abs(b - A @ x) / scale, 1e-9)) / scale**2
    return x


def by_session(A, b, sessions):
    """Each session predicted by a fit on the others."""
    out = np.zeros(len(b))
    for s in np.unique(sessions):
        out[sessions == s] = A[sessions == s] @ huber(A[sessions != s], b[sessions != s])
    return out


def report(name, guess, b, sessions):
    error = np.abs(guess - b)
    sums = np.array([guess[sessions == s].sum() / b[sessions == s].sum() - 1 for s in np.unique(sessions)])
    print(f"  {name:34} {np.median(error / b):7.1%} {np.median(error):8.0f} {error.sum() / b.sum():8.1%}"
          f" {np.abs(sums).mean():9.1%} {np.percentile(np.abs(sums), 95):7.1%} {sums.mean():+8.1%}")


HEAD = f"  {'':34} {'median':>7} {'tokens':>8} {'sum|e|':>8} {'sessions':>9} {'p95':>7} {'bias':>8}"


def gather(steps):
    answers = iter(ask([{"text": t} for s in steps for t in s["texts"]]))
    for s in steps:
        for a in (next(answers) for _ in s["texts"]):
            for key in ("chars", "o200k", "cl100k"):
                s["n"][key] += a[key]
            s["n"].update(dict(zip(a["names"], a["features"])))
            s.setdefault("names", a["names"])
    return steps


FITTED = 10  # of the statistics; the recordings hold too few of the others
FIXED = {"symbols": 0.70, "repeats": 1 / 16, "letters2": 0.80, "cjk": 1.14, "wide": 2.1}
STRUCTURE = ["call", "parameter", "text", "reasoning", "sealed"]


def claude(name, steps, envelope):
    ok = [s for s in steps if s["ok"]]
    b, sessions = np.array([s["grown"] for s in ok], float), np.array([s["session"] for s in ok])
    for s in ok:
        s["n"]["sealed"] = max(0, s["n"]["seal"] - envelope * s["n"]["reasoning"])
    column = lambda k: np.array([s["n"][k] for s in ok], float)
    table = lambda keys: np.stack([column(k) for k in keys], 1)
    features = ok[0]["names"][:FITTED]
    fixed = sum(column(k) * v for k, v in FIXED.items())
    print(f"\n{name}: {len(ok)} steps of {len(steps)}, {len(np.unique(sessions))} sessions, {b.sum():,.0f} tokens"
          f" (seals: {column('sealed').sum():,.0f} characters)")
    print(HEAD)
    seal = huber(table(["o200k"] + STRUCTURE), b)[-1] * column("sealed")
    report("characters / 4", column("chars") / 4, b, sessions)
    report("characters / 2.63", column("chars") / 2.63, b, sessions)
    report("characters / 2.63 + seals", column("chars") / 2.63 + seal, b, sessions)
    report("o200k x constant", by_session(table(["o200k"]), b, sessions), b, sessions)
    report("o200k x constant + structure", by_session(table(["o200k"] + STRUCTURE), b, sessions), b, sessions)
    A = table(features + STRUCTURE)
    report("statistics + structure (held out)", fixed + by_session(A, b - fixed, sessions), b, sessions)
    report("as shipped (Counter)", shipped(ok), b, sessions)
    x = huber(A, b - fixed)
    print("  per: [" + ", ".join(f"{v:.3f}" for v in x[:FITTED]) + ", …]")
    print("  " + "  ".join(f"{k} {v:.3f}" for k, v in zip(STRUCTURE, x[FITTED:])) + "  (call: its result included)")
    return A, fixed, b, sessions, x


def across(name, here, there):
    """Another project and another model: as it is, and after one ratio."""
    x, (A, fixed, b, sessions, _) = here[-1], there
    guess = fixed + A @ x
    report(name, guess, b, sessions)
    report(f"{name}, x {np.median(b / guess):.2f}", guess * np.median(b / guess), b, sessions)


def codex(steps):
    ok = [s for s in steps if s["ok"]]
    b, sessions = np.array([s["grown"] for s in ok], float), np.array([s["session"] for s in ok])
    column = lambda k: np.array([s["n"][k] for s in ok], float)
    keys = ["o200k", "answer", "message", "call", "free_call", "result", "reasoning", "reasoning_tokens"]
    A = np.stack([column(k) for k in keys], 1)
    print(f"\nCodex: {len(ok)} steps inside a turn of {len(steps)}, {b.sum():,.0f} tokens")
    print(HEAD)
    reasoning = column("reasoning_tokens")
    report("characters / 4 + reported reasoning", column("chars") / 4 + reasoning, b, sessions)
    report("o200k + reported reasoning", column("o200k") + reasoning, b, sessions)
    report("o200k + structure (held out)", by_session(A, b, sessions), b, sessions)
    report("as shipped + reported reasoning", shipped(ok) + reasoning, b, sessions)
    print("  " + "  ".join(f"{k} {v:.2f}" for k, v in zip(keys, huber(A, b))))


def open_models(steps):
    """Open models' vocabularies are near cl100k_base; the statistics are fitted to its exact counts."""
    n = lambda k: np.array([s["n"][k] for s in steps], float)
    fixed = n("repeats") / 64 + n("letters2") * 0.7 + n("cjk") * 1.14 + n("wide") * 2.5
    A, b = np.stack([n(k) for k in steps[0]["names"][:FITTED + 1]], 1), n("cl100k")
    keep = b > 50
    A, b, fixed, sessions = A[keep], b[keep], fixed[keep], np.array([s["session"] for s in steps])[keep]
    print(f"\nOpen models (cl100k_base on the same texts)\n{HEAD}")
    report("characters / 4", n("chars")[keep] / 4, b, sessions)
    report("statistics (held out)", fixed + by_session(A, b - fixed, sessions), b, sessions)
    print("  per: [" + ", ".join(f"{v:.3f}" for v in huber(A, b - fixed)) + ", …]")


def corrected(steps):
    """Predicts each request's prompt from the shipped counts and the reports before it."""
    questions, kept, session = [], [], None
    for s, tokens in zip(steps, shipped(steps)):
        if s["session"] != session or s["grown"] < -20_000:  # a compaction is a new beginning
            session, counted = s["session"], 0
            questions.append({"restart": True})
            kept.append(None)
            n = 0
        counted, n = counted + tokens, n + 1
        questions.append({"counted": int(counted), "reported": s["prompt"]})
        kept.append((s, n))
    errors = [(abs(a["estimate"] / k[0]["prompt"] - 1), k[1]) for a, k in zip(ask(questions), kept) if k]
    late = np.array([e for e, n in errors if n > 3])
    print(f"\nCorrected by usage: predicted size of the next prompt, after 3 reports, {len(late)} requests")
    print(f"  median {np.median(late):.2%}  mean {late.mean():.2%}  p95 {np.percentile(late, 95):.2%}"
          f"  p99 {np.percentile(late, 99):.2%}  within 3%: {(late < 0.03).mean():.1%}")


def main():
    global ASK
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("transcripts")
    args.add_argument("--counter", default="target/release/examples/tokens")
    args = args.parse_args()
    ASK = args.counter
    files = lambda kind: sorted(glob.glob(os.path.join(args.transcripts, kind, "*.jsonl")))
    steps = gather([s for f in files("claude") for s in claude_steps(f)])
    new = lambda s: "-4-5" not in s["model"] and "-4-6" not in s["model"]
    old_fit = claude("Claude up to 4.6", [s for s in steps if not new(s)], 240)
    new_fit = claude("Claude from 4.7 on", [s for s in steps if new(s)], 300)
    print(f"\nAcross projects, which here also means across vocabularies\n{HEAD}")
    across("fit on old, tried on new", old_fit, new_fit)
    across("fit on new, tried on old", new_fit, old_fit)
    open_models(steps)
    codex(gather([s for f in files("codex") for s in codex_steps(f)]))
    corrected(steps)


if __name__ == "__main__":
    main()
