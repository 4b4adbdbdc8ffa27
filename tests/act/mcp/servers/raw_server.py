"""A server that keeps to no rules: what the SDK would never send, line by line. It needs nothing,
so that it is there at once. The argument says what it does wrong.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

MODE = sys.argv[1]
NONE = {"type": "object"}


def write(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def answer(number: object, result: object) -> None:
    write(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}))


def tell(method: str, **params: object) -> None:
    write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))


def tool(name: str, **more: object) -> dict[str, Any]:
    return {"name": name, "description": "A tool.", "inputSchema": NONE, **more}


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def explosive() -> dict[str, Any]:
    parts: dict[str, Any] = {"p0": {"type": "string"}}
    for number in range(1, 40):
        inner = {"$ref": f"#/$defs/p{number - 1}"}
        parts[f"p{number}"] = {"allOf": [inner, inner]}
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/p39"}}, "$defs": parts}


def liars() -> list[Any]:
    loop = {"type": "object", "$ref": "#"}
    return [
        tool("good"),
        tool("no-schema", inputSchema="trust me"),
        tool("not-an-object", inputSchema={"type": "string"}),
        tool("broken", inputSchema={"type": "object", "properties": {"a": {"type": "no-type"}}}),
        tool("outside", inputSchema={"type": "object", "$ref": "http://127.0.0.1:1/s.json"}),
        tool("cyclic", inputSchema=loop),
        tool("deep", inputSchema=deep(80)),
        tool("explosive", inputSchema=explosive()),
        tool("huge", description="x" * 100_000),
        tool("long", description="x" * 20_000),
        tool("bad-output", outputSchema={"type": "object", "properties": 7}),
        tool("number", description=7),
        {"description": "nameless"},
        "not even an object",
        tool("a.b"),
        tool("a b"),
        tool("double", description="one"),
        tool("double", description="other"),
        tool("again"),
        tool("again"),
        tool("n" * 100),
    ]


def listed() -> list[Any]:
    match MODE:
        case "liars":
            return liars()
        case "words":
            return [tool("act", description=Path("said").read_text(encoding="utf-8"))]
        case "secret":
            said = os.environ["TOKEN"]
            inner = {"type": "object", "properties": {"a": {"description": said}}}
            return [tool("act", description=f"It is {said}.", inputSchema=inner), tool(said)]
        case "many":
            return [tool(f"t{number:04d}") for number in range(5000)]
        case _:
            return [tool("act"), tool("other")]


def flood() -> None:
    while True:
        tell("notifications/message", level="info", data="x" * 100)


def call(number: object) -> None:  # noqa: C901, PLR0912  # one arm for each way
    match MODE:
        case "flood":
            flood()
        case "stderr":
            while True:
                sys.stderr.write("y" * 10_000 + "\n")
        case "endless":
            while True:
                sys.stdout.write("z" * 100_000)
        case "large":
            answer(number, {"content": [{"type": "text", "text": "x" * 300_000}]})
        case "nonsense":
            answer(number, {"content": "no list", "isError": 3})
        case "nan":
            write(
                f'{{"jsonrpc":"2.0","id":{number},"result":'
                '{"content":[],"structuredContent":{"a":NaN}}}'
            )
        case "secret":
            error = {"code": -32602, "message": "x" * 495 + os.environ["TOKEN"]}
            write(json.dumps({"jsonrpc": "2.0", "id": number, "error": error}))
        case "error":
            error = {"code": -32602, "message": "no such thing"}
            write(json.dumps({"jsonrpc": "2.0", "id": number, "error": error}))
        case "deaf":
            signal.pause()
        case "progress":
            for step in range(20):
                tell("notifications/progress", progressToken=number, progress=step)
            answer(number, {"content": [{"type": "text", "text": "got there"}]})
        case "many-answers":
            for _ in range(3):
                answer(number, {"content": [{"type": "text", "text": "first"}]})
        case _:
            answer(number, {"content": [{"type": "text", "text": "done"}]})


def begin(number: object) -> None:
    if MODE == "hang-initialize":
        signal.pause()
    if MODE == "exit":
        sys.exit(3)
    if MODE == "noise":
        write("Welcome to my server!")
        write('{"half": ')
        write("[1, 2, 3]")
        write('{"jsonrpc": "2.0", "result": {}, "id": 12345}')
    offered = {"tools": {"listChanged": True}}
    about = {"name": "raw", "version": "1"}
    answer(number, {"protocolVersion": "2025-06-18", "capabilities": offered, "serverInfo": about})


def lists(number: object, asked: dict[str, Any]) -> None:
    if MODE == "hang-list":
        signal.pause()
    result: dict[str, Any] = {"tools": listed()}
    if MODE == "pages":
        result["nextCursor"] = f"{asked.get('cursor', '')}x"
        result["tools"] = [tool(f"p{len(result['nextCursor'])}")]
    if MODE == "no-list":
        result["tools"] = "all of them"
    answer(number, result)


def heard(message: dict[str, Any]) -> None:
    number = message.get("id")
    asked: dict[str, Any] = message.get("params") or {}
    match message.get("method"):
        case "initialize":
            begin(number)
        case "tools/list":
            lists(number, asked)
            if MODE == "restless":
                tell("notifications/tools/list_changed")
        case "tools/call":
            call(number)
        case _ if number is not None:
            error = {"code": -32601, "message": "unknown"}
            write(json.dumps({"jsonrpc": "2.0", "id": number, "error": error}))
        case _:
            pass


if __name__ == "__main__":
    if MODE == "stubborn":
        held = os.open(sys.argv[2], os.O_WRONLY)  # whoever lives can be seen by that
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            signal.pause()  # a child that holds the pipes
    for line in sys.stdin:
        heard(json.loads(line))
    if MODE == "stubborn":
        signal.pause()
