"""What the official `openai` package makes of a provider: one JSON object of all it saw. Argument: the base URL."""

import asyncio
import json
import sys

import openai

URL = sys.argv[1] + "/v1"
PARAMETERS = {"type": "object", "properties": {"a": {"type": "integer"}}}
FUNCTION = {"type": "function", "name": "add", "description": "Adds.", "parameters": PARAMETERS, "strict": False}
CHAT_FUNCTION = {"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": PARAMETERS}}
client = openai.OpenAI(base_url=URL, api_key="sk-not-a-key", max_retries=0)
saw = {}


def words(text):
    return {"model": "gpt-5.5", "input": text, "store": False}


def chat(text):
    return {"model": "gpt-5.5", "messages": [{"role": "user", "content": text}]}


def told(answer):
    return json.loads(answer.to_json(exclude_unset=True))


def outcome(call):
    """The answer's words, or what the error is, to the class."""
    try:
        return told(call())
    except openai.APIStatusError as error:
        return [type(error).__name__, error.status_code, error.request_id, error.body]
    except Exception as error:  # of this package, or of the one below it
        return [type(error).__name__, str(error)]


saw["plain"] = outcome(lambda: client.responses.create(**words("plain")))
with client.responses.stream(**words("stream")) as stream:
    saw["streamed"] = {"events": [event.type for event in stream], "answer": told(stream.get_final_response())}
called = client.responses.create(**words("tool"), tools=[FUNCTION])
saw["tool"] = told(called)
result = {"type": "function_call_output", "call_id": called.output[-1].call_id, "output": "3"}
history = [{"role": "user", "content": "tool"}, *called.output, result]
saw["tool answered"] = outcome(lambda: client.responses.create(**(words("") | {"input": history}), tools=[FUNCTION]))
saw["tool streamed"] = [told(event) for event in client.responses.create(**words("tool"), tools=[FUNCTION], stream=True)]

saw["chat"] = outcome(lambda: client.chat.completions.create(**chat("plain")))
options = {"stream": True, "stream_options": {"include_usage": True}}
saw["chat streamed"] = [told(piece) for piece in client.chat.completions.create(**chat("stream"), **options)]
chosen = client.chat.completions.create(**chat("tool"), tools=[CHAT_FUNCTION])
saw["chat tool"] = told(chosen)
call = chosen.choices[0].message
history = chat("tool")["messages"] + [call, {"role": "tool", "tool_call_id": call.tool_calls[0].id, "content": "3"}]
saw["chat tool answered"] = outcome(lambda: client.chat.completions.create(model="gpt-5.5", messages=history, tools=[CHAT_FUNCTION]))
saw["models"] = [told(model) for model in client.models.list()]

ways = {"responses": lambda to, text: to.responses.create(**words(text)), "chat": lambda to, text: to.chat.completions.create(**chat(text))}
for way, ask in ways.items():
    for kind in ["invalid", "key", "forbidden", "model", "large", "limit", "server", "overloaded", "long", "gateway", "broken"]:
        saw[f"{way} {kind}"] = outcome(lambda: ask(client, f"fail: {kind}"))
    patient = client.with_options(max_retries=2)
    saw[f"{way} tried again"] = outcome(lambda: ask(patient, f"once: server, {way}"))
    saw[f"{way} waited"] = outcome(lambda: ask(patient, f"once: limit, {way}"))
    saw[f"{way} too late"] = outcome(lambda: ask(client.with_options(timeout=0.5), "never"))
saw["fails within the stream"] = outcome(lambda: [*client.responses.create(**words("fail: midway"), stream=True)][-1])
saw["chat breaks within the stream"] = outcome(lambda: [*client.chat.completions.create(**chat("fail: cut"), stream=True)][-1])

for coding in ["gzip", "br", "zstd"]:
    answer = client.responses.with_raw_response.create(**words(f"coding: {coding}"))
    saw[coding] = [answer.headers.get("content-encoding"), told(answer.parse())]
    saw[f"{coding} streamed"] = [told(piece) for piece in client.chat.completions.create(**chat(f"coding: {coding}"), stream=True)]


async def at_once():
    async with openai.AsyncOpenAI(base_url=URL, api_key="sk-not-a-key", max_retries=0) as several:
        asked = [several.responses.create(**words(f"echo {n}")) for n in range(4)]
        chats = [several.chat.completions.create(**chat(f"echo {n}")) for n in range(4, 8)]
        answers, said = await asyncio.gather(asyncio.gather(*asked), asyncio.gather(*chats))
        pieces = [piece async for piece in await several.chat.completions.create(**chat("stream"), stream=True)]
        texts = [answer.output_text for answer in answers] + [one.choices[0].message.content for one in said]
        return sorted(texts), len(pieces)


saw["at once"] = asyncio.run(at_once())
print(json.dumps(saw))
