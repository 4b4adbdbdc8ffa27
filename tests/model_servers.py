"""Servers of models on this machine that play the lists of known products, and remember what they
were asked. That of llama.cpp follows an answer of the engine we ship; the others are written after
the documented forms, and were not taken from a running server.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Ollama: the list in OpenAI's form, its own list, and what is in memory.
OLLAMA: Mapping[str, bytes] = {
    "/v1/models": b'{"object":"list","data":['
    b'{"id":"llama3.2:latest","object":"model","created":1747075000,"owned_by":"library"},'
    b'{"id":"qwen3:8b","object":"model","created":1747074000,"owned_by":"library"},'
    b'{"id":"nomic-embed-text:latest","object":"model","created":1747073000,"owned_by":"library"}'
    b"]}\n",
    "/api/tags": b'{"models":[{"name":"llama3.2:latest","model":"llama3.2:latest",'
    b'"modified_at":"2026-05-12T18:36:40.1Z","size":2019393189,"digest":"a80c4f17acd5",'
    b'"details":{"parent_model":"","format":"gguf","family":"llama","families":["llama"],'
    b'"parameter_size":"3.2B","quantization_level":"Q4_K_M"}},'
    b'{"name":"qwen3:8b","model":"qwen3:8b","modified_at":"2026-05-12T18:20:00.1Z",'
    b'"size":5225388164,"digest":"500a1f067a9f","details":{"parent_model":"","format":"gguf",'
    b'"family":"qwen3","families":["qwen3"],"parameter_size":"8.2B","quantization_level":"Q4_K_M"}},'
    b'{"name":"nomic-embed-text:latest","model":"nomic-embed-text:latest",'
    b'"modified_at":"2026-05-12T18:03:00.1Z","size":274302450,"digest":"0a109f422b47",'
    b'"details":{"parent_model":"","format":"gguf","family":"nomic-bert",'
    b'"families":["nomic-bert"],"parameter_size":"137M","quantization_level":"F16"}}]}',
    "/api/ps": b'{"models":[{"name":"qwen3:8b","model":"qwen3:8b","size":6654289920,'
    b'"digest":"500a1f067a9f","details":{"family":"qwen3","parameter_size":"8.2B"},'
    b'"expires_at":"2026-11-16T14:38:31.8Z","size_vram":5333539264,"context_length":4096}]}',
}
# As the engine of `mentis models serve` answers, with another model in it.
LLAMACPP: Mapping[str, bytes] = {
    "/v1/models": b'{"models":[{"name":"Qwen3-4B-Q4_K_M","model":"Qwen3-4B-Q4_K_M",'
    b'"modified_at":"","size":"","digest":"","type":"model","description":"","tags":[""],'
    b'"capabilities":["completion"],"parameters":"","details":{"parent_model":"","format":"gguf",'
    b'"family":"","families":[""],"parameter_size":"","quantization_level":""}}],"object":"list",'
    b'"data":[{"id":"Qwen3-4B-Q4_K_M","aliases":["Qwen3-4B-Q4_K_M"],"tags":[],"object":"model",'
    b'"created":1794871689,"owned_by":"llamacpp","meta":{"vocab_type":2,"n_vocab":151936,'
    b'"n_ctx":2048,"n_ctx_train":40960,"n_embd":2560,"n_params":4022468096,"size":2491469824}}]}',
}
# An older one says in another place how much it holds.
LLAMACPP_OLD: Mapping[str, bytes] = {
    "/v1/models": b'{"object":"list","data":[{"id":"tiny","object":"model","created":1742000000,'
    b'"owned_by":"llamacpp","meta":null}]}',
    "/props": b'{"default_generation_settings":{"id":0,"n_ctx":1024,"speculative":false},'
    b'"total_slots":1,"model_path":"tiny.gguf"}',
}
VLLM: Mapping[str, bytes] = {
    "/v1/models": b'{"object":"list","data":[{"id":"Qwen/Qwen3-8B","object":"model",'
    b'"created":1763300000,"owned_by":"vllm","root":"Qwen/Qwen3-8B","parent":null,'
    b'"max_model_len":16384,"permission":[{"id":"modelperm-1","object":"model_permission",'
    b'"created":1763300000,"allow_create_engine":false,"allow_sampling":true,'
    b'"allow_logprobs":true,"allow_search_indices":false,"allow_view":true,'
    b'"allow_fine_tuning":false,"organization":"*","group":null,"is_blocking":false}]}]}',
}
LMSTUDIO: Mapping[str, bytes] = {
    "/v1/models": b'{"data":[{"id":"meta-llama-3.1-8b-instruct","object":"model",'
    b'"owned_by":"organization_owner"},{"id":"text-embedding-nomic-embed-text-v1.5",'
    b'"object":"model","owned_by":"organization_owner"}],"object":"list"}',
    "/api/v0/models": b'{"object":"list","data":[{"id":"meta-llama-3.1-8b-instruct",'
    b'"object":"model","type":"llm","publisher":"lmstudio-community","arch":"llama",'
    b'"compatibility_type":"gguf","quantization":"Q4_K_M","state":"loaded",'
    b'"max_context_length":131072,"loaded_context_length":8192},'
    b'{"id":"text-embedding-nomic-embed-text-v1.5","object":"model","type":"embeddings",'
    b'"publisher":"nomic-ai","arch":"nomic-bert","compatibility_type":"gguf",'
    b'"quantization":"Q4_0","state":"not-loaded","max_context_length":2048}]}',
}


@dataclass
class ModelServer:
    """`pages` by path; what is not there is a 404, as is a page without the key."""

    pages: Mapping[str, bytes]
    key: str = ""
    url: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    bodies: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    room: int = 0

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        self.asked.append((method, path))
        if self.key and headers.get("authorization") != f"Bearer {self.key}":
            return 401, b'{"error":{"message":"Invalid API Key","code":401}}'
        if method == "POST" and path == "/v1/chat/completions":
            return self._chat(body)
        found = self.pages.get(path)
        return (404, b'{"error":"not found"}') if found is None else (200, found)

    def _chat(self, body: bytes) -> Answer:
        """As llama-server refuses a prompt that does not fit; a token is four letters here."""
        given = json.loads(body)
        self.bodies.append(given)
        tokens = sum(len(str(one["content"])) for one in given["messages"]) // 4
        if self.room and tokens >= self.room:
            said = (
                f"request ({tokens} tokens) exceeds the available context size ({self.room}"
                " tokens), try increasing it"
            )
            error = {"code": 400, "message": said, "type": "exceed_context_size_error"}
            return 400, json.dumps({"error": error}).encode()
        choice = {"index": 0, "message": {"role": "assistant", "content": "Hello."}}
        return 200, json.dumps({"choices": [{**choice, "finish_reason": "stop"}]}).encode()


Answer = tuple[int, bytes]


@contextmanager
def serving(
    pages: Mapping[str, bytes], *, key: str = "", room: int = 0
) -> Generator[ModelServer, None, None]:
    server = ModelServer(pages, key, room=room)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply("GET")

        def do_POST(self) -> None:
            self._reply("POST")

        def _reply(self, method: str) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers.get("content-length", 0)))
            status, said = server.answer(method, self.path, headers, body)
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name there
            del format, args

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        server.url = f"http://127.0.0.1:{listening.server_address[1]}/v1"
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            listening.shutdown()
            thread.join()
