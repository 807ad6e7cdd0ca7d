"""An MCP server on standard input and output with one tool, which says again what it is told."""

import json
import sys

TOOL = {
    "name": "echo",
    "description": "Says it again.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}


def answer(method, given):
    if method == "initialize":
        return {
            "protocolVersion": given.get("protocolVersion", "2025-06-18"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "echo", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": "echo: " + given["arguments"]["text"]}]}
    if method == "ping":
        return {}
    return None


for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    said = answer(asked["method"], asked.get("params") or {})
    reply = {"jsonrpc": "2.0", "id": asked["id"]}
    if said is None:
        reply["error"] = {"code": -32601, "message": "no such method"}
    else:
        reply["result"] = said
    print(json.dumps(reply), flush=True)
