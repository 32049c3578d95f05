"""The story's server on the official Python SDK, first line: standard streams, HTTP or HTTP+SSE.

    python server.py stdio | http | sse

Over HTTP it says `listening on URL` on standard error. The steps that it answers are in ../README.md.
"""

import socket
import sys

import anyio
import uvicorn
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.fastmcp.exceptions import ToolError
from pydantic import BaseModel

PAUSE = 0.05

server = FastMCP("interop-python-1", log_level="WARNING")


class Name(BaseModel):
    name: str


@server.tool(structured_output=False)
def echo(text: str) -> str:
    """Says it again"""
    return text


@server.tool(structured_output=False)
async def count(to: int, ctx: Context) -> str:
    """Counts, and says how far it is"""
    for done in range(1, to + 1):
        await ctx.report_progress(done, to)
        await anyio.sleep(PAUSE)
    return f"counted to {to}"


@server.tool(structured_output=False)
async def greet(ctx: Context) -> str:
    """Asks for a name"""
    answer = await ctx.elicit("What is your name?", Name)
    if answer.action != "accept":
        raise ToolError(f"the answer was {answer.action}")
    return f"Hello, {answer.data.name}!"


@server.tool(structured_output=False)
def fail() -> str:
    """Fails, always"""
    raise ToolError("It failed on purpose")


@server.resource("story://greeting", name="greeting", mime_type="text/plain")
def greeting() -> str:
    """A greeting"""
    return "Hello from the story"


@server.prompt()
def summarise(topic: str) -> str:
    """Asks for a summary"""
    return f"Summarise {topic}"


def serve(transport: str) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    path = "mcp" if transport == "http" else "sse"
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/{path}", file=sys.stderr, flush=True)
    app = server.streamable_http_app() if transport == "http" else server.sse_app()
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run([listener])


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        serve(sys.argv[1])
