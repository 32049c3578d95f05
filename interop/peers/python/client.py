"""The story's client on the official Python SDK, second line.

    python client.py ERA stdio COMMAND ARG… | python client.py ERA http URL | python client.py ERA sse URL

ERA is `modern`, `legacy` or `auto`. Prints one JSON object for each step, and ends with 1 at the first that fails.
"""

import json
import os
import sys
from collections.abc import Awaitable, Callable

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp_types import ElicitResult
from mcp_types.version import LATEST_MODERN_VERSION

MODES = {"modern": LATEST_MODERN_VERSION, "legacy": "legacy", "auto": "auto"}
WITHOUT = os.environ.get("INTEROP_WITHOUT", "").split(",")


async def step(name: str, run: Callable[[], Awaitable[str | None]]) -> None:
    if name in WITHOUT:
        return
    try:
        print(json.dumps({"step": name, "ok": True, "detail": await run()}), flush=True)
    except BaseException as error:
        print(json.dumps({"step": name, "ok": False, "detail": repr(error)}), flush=True)
        os._exit(1)


def expect(condition: bool, what: object) -> None:
    if not condition:
        raise RuntimeError(str(what))


async def answer(_context: object, _question: object) -> ElicitResult:
    return ElicitResult(action="accept", content={"name": "Ada"})


class Story:
    def __init__(self, client: Client) -> None:
        self.client = client

    async def connect(self) -> str:
        await self.client.__aenter__()
        return self.client.protocol_version

    async def list(self) -> str:
        page = await self.client.list_tools()
        names, pages = [tool.name for tool in page.tools], 1
        while page.next_cursor is not None:
            page = await self.client.list_tools(cursor=page.next_cursor)
            names, pages = names + [tool.name for tool in page.tools], pages + 1
        expect({"echo", "count", "fail"} <= set(names), names)
        return f"{len(names)} tools on {pages} pages"

    async def call(self) -> str:
        result = await self.client.call_tool("echo", {"text": "hello"})
        expect(result.content[0].text == "hello", result)
        return result.content[0].text

    async def progress(self) -> str:
        seen: list[float] = []

        async def on_progress(progress: float, _total: float | None, _message: str | None) -> None:
            seen.append(progress)

        result = await self.client.call_tool("count", {"to": 3}, progress_callback=on_progress)
        expect(result.content[0].text == "counted to 3" and len(seen) >= 2, (seen, result))
        return f"{len(seen)} times"

    async def elicit(self) -> str:
        result = await self.client.call_tool("greet", {})
        expect(result.content[0].text == "Hello, Ada!", result)
        return result.content[0].text

    async def fail(self) -> str:
        result = await self.client.call_tool("fail", {})
        expect(result.is_error is True, result)
        return result.content[0].text

    async def read(self) -> str:
        result = await self.client.read_resource("story://greeting")
        expect(result.contents[0].text == "Hello from the story", result)
        return result.contents[0].text

    async def prompt(self) -> str:
        result = await self.client.get_prompt("summarise", {"topic": "tea"})
        expect(result.messages[0].content.text == "Summarise tea", result)
        return result.messages[0].content.text

    async def close(self) -> None:
        await self.client.__aexit__(None, None, None)


async def main() -> None:
    era, transport, target, *args = sys.argv[1:]
    server = {
        "stdio": lambda: StdioServerParameters(command=target, args=args, env=dict(os.environ)),
        "http": lambda: target,
        "sse": lambda: sse_client(target),
    }[transport]()
    client = Client(server, mode=MODES[era], elicitation_callback=answer, read_timeout_seconds=20)
    story = Story(client)
    for name in ["connect", "list", "call", "progress", "elicit", "fail", "read", "prompt", "close"]:
        await step(name, getattr(story, name))


anyio.run(main)
