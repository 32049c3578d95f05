"""The story's client on the official Python SDK, first line.

    python client.py ERA stdio COMMAND ARG… | python client.py ERA http URL | python client.py ERA sse URL

ERA is ignored: this line knows the legacy era alone. Prints one JSON object for each step, and ends with 1 at the
first that fails.
"""

import json
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult, PaginatedRequestParams
from pydantic import AnyUrl

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
    def __init__(self, transport: str, target: str, args: list[str]) -> None:
        self.opened = AsyncExitStack()
        self.transport = {
            "stdio": lambda: stdio_client(StdioServerParameters(command=target, args=args, env=dict(os.environ))),
            "http": lambda: streamable_http_client(target),
            "sse": lambda: sse_client(target),
        }[transport]()

    async def connect(self) -> str:
        read, write, *_ = await self.opened.enter_async_context(self.transport)
        limit = timedelta(seconds=20)
        session = ClientSession(read, write, read_timeout_seconds=limit, elicitation_callback=answer)
        self.client = await self.opened.enter_async_context(session)
        return str((await self.client.initialize()).protocolVersion)

    async def list(self) -> str:
        page = await self.client.list_tools()
        names, pages = [tool.name for tool in page.tools], 1
        while page.nextCursor is not None:
            page = await self.client.list_tools(params=PaginatedRequestParams(cursor=page.nextCursor))
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
        expect(result.isError is True, result)
        return result.content[0].text

    async def read(self) -> str:
        result = await self.client.read_resource(AnyUrl("story://greeting"))
        expect(result.contents[0].text == "Hello from the story", result)
        return result.contents[0].text

    async def prompt(self) -> str:
        result = await self.client.get_prompt("summarise", {"topic": "tea"})
        expect(result.messages[0].content.text == "Summarise tea", result)
        return result.messages[0].content.text

    async def close(self) -> None:
        await self.opened.aclose()


async def main() -> None:
    _era, transport, target, *args = sys.argv[1:]
    story = Story(transport, target, args)
    for name in ["connect", "list", "call", "progress", "elicit", "fail", "read", "prompt", "close"]:
        await step(name, getattr(story, name))


anyio.run(main)
