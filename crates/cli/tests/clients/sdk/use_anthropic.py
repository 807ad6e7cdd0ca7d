"""What the official `anthropic` package makes of a provider: one JSON object of all it saw. Argument: the base URL."""

import asyncio
import json
import sys

import anthropic

URL = sys.argv[1]
TOOLS = [{"name": "add", "description": "Adds.", "input_schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}]
client = anthropic.Anthropic(base_url=URL, api_key="sk-not-a-key", max_retries=0)
saw = {}


def words(text):
    return {"model": "claude-opus-5-5", "max_tokens": 500, "messages": [{"role": "user", "content": text}]}


def told(message):
    return json.loads(message.to_json(exclude_unset=True))


def outcome(call):
    """The answer's words, or what the error is, to the class."""
    try:
        return told(call())
    except anthropic.APIStatusError as error:
        return [type(error).__name__, error.status_code, error.request_id, error.body]
    except Exception as error:  # of this package, or of the one below it
        return [type(error).__name__, str(error)]


def streamed(**more):
    with client.messages.stream(**words("stream"), **more) as stream:
        kinds = [event.type for event in stream]
        return {"events": kinds, "message": told(stream.get_final_message())}


saw["plain"] = outcome(lambda: client.messages.create(**words("plain")))
saw["streamed"] = streamed()
saw["raw"] = [told(event) for event in client.messages.create(**words("plain"), stream=True)]
called = client.messages.create(**words("tool"), tools=TOOLS)
saw["tool"] = told(called)
conversation = words("tool")["messages"] + [
    {"role": "assistant", "content": called.content},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": called.content[-1].id, "content": "3"}]},
]
saw["tool answered"] = outcome(lambda: client.messages.create(**(words("") | {"messages": conversation}), tools=TOOLS))
with client.messages.stream(**words("tool"), tools=TOOLS) as stream:
    saw["tool streamed"] = told(stream.get_final_message())
saw["count"] = told(client.messages.count_tokens(model="claude-opus-5-5", messages=words("plain")["messages"]))
saw["models"] = [told(model) for model in client.models.list()]

for kind in ["invalid", "key", "forbidden", "model", "large", "limit", "server", "overloaded", "long", "gateway", "broken"]:
    saw[kind] = outcome(lambda: client.messages.create(**words(f"fail: {kind}")))
saw["fails within the stream"] = outcome(lambda: [*client.messages.create(**words("fail: midway"), stream=True)][-1])
saw["breaks within the stream"] = outcome(lambda: [*client.messages.create(**words("fail: cut"), stream=True)][-1])
patient = client.with_options(max_retries=2)
saw["tried again"] = outcome(lambda: patient.messages.create(**words("once: overloaded")))
saw["waited"] = outcome(lambda: patient.messages.create(**words("once: limit")))
hasty = client.with_options(timeout=0.5)
saw["too late"] = outcome(lambda: hasty.messages.create(**words("never")))

for coding in ["gzip", "br", "zstd"]:
    answer = client.messages.with_raw_response.create(**words(f"coding: {coding}"))
    saw[coding] = [answer.headers.get("content-encoding"), told(answer.parse())]
    saw[f"{coding} streamed"] = [told(event) for event in client.messages.create(**words(f"coding: {coding}"), stream=True)]


async def at_once():
    async with anthropic.AsyncAnthropic(base_url=URL, api_key="sk-not-a-key", max_retries=0) as several:
        answers = await asyncio.gather(*[several.messages.create(**words(f"echo {n}")) for n in range(8)])
        async with several.messages.stream(**words("stream")) as stream:
            text = "".join([piece async for piece in stream.text_stream])
        return sorted(answer.content[0].text for answer in answers), text


saw["at once"] = asyncio.run(at_once())
print(json.dumps(saw))
