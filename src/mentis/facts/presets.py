"""Presets: places where models are served, each with its address, its key and what is known of it.

The page that a row was read from stands in it, and so does the day. `facts` correct the table for
this place; what a page does not say is left to the table, and to what a refusal teaches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mentis.values.json import JsonObject
from mentis.values.route import Backend
from mentis.values.value import Value


@dataclass(frozen=True, slots=True)
class RoutePreset(Value):
    """`url` is empty where every customer has an address of their own: `form` is what it looks
    like. `key_env` is the variable that the provider's own pages name; it goes to `url` unasked,
    and to nowhere else. `start` is the command that starts a server on this machine;
    `model` is the one that `mentis init` offers where the key is there.
    """

    name: str
    backend: Backend
    url: str = ""
    key_env: str = ""
    form: str = ""
    note: str = ""
    source: str = ""
    read: str = "2026-11-16"
    facts: JsonObject = field(default_factory=dict[str, object], hash=False)
    start: str = ""
    model: str = ""


_LLAMA_NAMES: JsonObject = {
    "option_names": ["repetition_penalty=repeat_penalty"],
    "answer_scores": "gbnf",
}
_ROWS = (
    RoutePreset(
        "openai",
        "openai",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        model="gpt-5.6",
        note="Chat Completions; for reasoning that is replayed, openai-responses",
        source="https://github.com/openai/openai-python",
    ),
    RoutePreset(
        "openai-responses",
        "openai-responses",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        note="Responses, without storage at the provider",
        source="https://developers.openai.com/api/docs/guides/prompt-caching/diagnostics",
    ),
    RoutePreset(
        "anthropic",
        "anthropic",
        "https://api.anthropic.com/v1",
        "ANTHROPIC_API_KEY",
        model="claude-sonnet-5-5",
        source="https://github.com/anthropics/anthropic-sdk-python",
    ),
    RoutePreset(
        "gemini",
        "gemini",
        "https://generativelanguage.googleapis.com",
        "GEMINI_API_KEY",
        model="gemini-flash-latest",
        note="GOOGLE_API_KEY goes there as well",
        source="https://github.com/googleapis/python-genai",
    ),
    RoutePreset(
        "azure",
        "openai",
        key_env="AZURE_OPENAI_API_KEY",
        form="https://RESOURCE.openai.azure.com/openai/v1",
        note="the model is the name of your deployment; the key goes as `api-key`",
        source="https://learn.microsoft.com/azure/foundry/openai/api-version-lifecycle",
        facts={"key_header": "api-key"},
    ),
    RoutePreset(
        "vertex",
        "openai",
        form="https://LOCATION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/LOCATION"
        "/endpoints/openapi",
        note="name with key_env a variable that holds an access token; it ends after an hour",
        source="https://docs.cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai"
        "/auth-and-credentials",
    ),
    RoutePreset(
        "bedrock",
        "openai",
        key_env="AWS_BEARER_TOKEN_BEDROCK",
        form="https://bedrock-runtime.REGION.amazonaws.com/openai/v1",
        note="with a Bedrock API key; requests are not signed",
        source="https://docs.aws.amazon.com/bedrock/latest/userguide"
        "/inference-chat-completions.html",
    ),
    RoutePreset(
        "openrouter",
        "openai",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        model="openrouter/auto",
        note="options.headers HTTP-Referer and X-Title name your application",
        source="https://www.openrouter.ai/docs/requests",
    ),
    RoutePreset(
        "deepseek",
        "openai",
        "https://api.deepseek.com",
        "DEEPSEEK_API_KEY",
        model="deepseek-v4-flash",
        note="deepseek-chat and deepseek-reasoner ended there in July 2026",
        source="https://api-docs.deepseek.com/quick_start/pricing/",
    ),
    RoutePreset(
        "mistral",
        "openai",
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        model="mistral-large-latest",
        note="its word for a seed is random_seed",
        source="https://docs.mistral.ai/api/endpoint/chat",
        facts={"option_names": ["seed=random_seed"]},
    ),
    RoutePreset(
        "groq",
        "openai",
        "https://api.groq.com/openai/v1",
        "GROQ_API_KEY",
        model="openai/gpt-oss-20b",
        note="a temperature of 0 becomes 1e-8 there",
        source="https://console.groq.com/docs/openai",
    ),
    RoutePreset(
        "xai",
        "openai",
        "https://api.x.ai/v1",
        "XAI_API_KEY",
        note="reasoning models take no penalties and no stop, and tell no reasoning here",
        source="https://docs.x.ai/developers/model-capabilities/text/comparison.md",
    ),
    RoutePreset(
        "together",
        "openai",
        "https://api.together.ai/v1",
        "TOGETHER_API_KEY",
        source="https://docs.together.ai/docs/inference/openai-compatibility",
    ),
    RoutePreset(
        "ollama",
        "openai",
        "http://127.0.0.1:11434/v1",
        note="what it does not list among its fields it would pass over in silence",
        source="https://docs.ollama.com/api/openai-compatibility",
        facts={
            "refuses": [
                *("top_k", "min_p", "repetition_penalty", "service_tier", "parallel_calls"),
                "server_tools",
            ]
        },
        start="ollama serve",
    ),
    RoutePreset(
        "llamacpp",
        "openai",
        "http://127.0.0.1:8080/v1",
        note="native tools need --jinja and a template that has them",
        source="https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
        facts=_LLAMA_NAMES,
        start="llama-server -m FILE.gguf --jinja",
    ),
    RoutePreset(
        "vllm",
        "openai",
        "http://127.0.0.1:8000/v1",
        note="takes top_k, min_p and repetition_penalty beside OpenAI's own",
        source="https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",
        facts={"answer_scores": "prompt"},
        start="vllm serve MODEL",
    ),
    RoutePreset(
        "lmstudio",
        "openai",
        "http://127.0.0.1:1234/v1",
        source="https://lmstudio.ai/docs/api/openai-api",
        start="lms server start",
    ),
    RoutePreset("embedded", "embedded", note="in this process; no server and no key"),
)
PRESETS: Mapping[str, RoutePreset] = {row.name: row for row in _ROWS}
