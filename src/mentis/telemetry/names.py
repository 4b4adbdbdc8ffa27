"""Names of spans, attributes and events. Those of the GenAI conventions are not stable yet, so they
stand in this file alone (open-telemetry/semantic-conventions-genai, model/gen-ai, November 2026).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mentis.values.reply import Stop
from mentis.values.route import Backend

SCOPE: Final = "mentis"

# Operations: a span is called after its operation and whom it asks
INVOKE_AGENT: Final = "invoke_agent"
CHAT: Final = "chat"
EXECUTE_TOOL: Final = "execute_tool"
EMBEDDINGS: Final = "embeddings"

# Attributes of the conventions
OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
AGENT_ID: Final = "gen_ai.agent.id"
AGENT_NAME: Final = "gen_ai.agent.name"
CONVERSATION: Final = "gen_ai.conversation.id"
REQUEST_MODEL: Final = "gen_ai.request.model"
REQUEST_STREAM: Final = "gen_ai.request.stream"
MAX_TOKENS: Final = "gen_ai.request.max_tokens"
TEMPERATURE: Final = "gen_ai.request.temperature"
TOP_P: Final = "gen_ai.request.top_p"
TOP_K: Final = "gen_ai.request.top_k"
FREQUENCY_PENALTY: Final = "gen_ai.request.frequency_penalty"
PRESENCE_PENALTY: Final = "gen_ai.request.presence_penalty"
STOP_SEQUENCES: Final = "gen_ai.request.stop_sequences"
SEED: Final = "gen_ai.request.seed"
RESPONSE_MODEL: Final = "gen_ai.response.model"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE: Final = "gen_ai.usage.cache_creation.input_tokens"
REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_CALL: Final = "gen_ai.tool.call.id"
TOOL_DESCRIPTION: Final = "gen_ai.tool.description"
DIMENSION: Final = "gen_ai.embeddings.dimension.count"
SERVER: Final = "server.address"
PORT: Final = "server.port"
ERROR: Final = "error.type"
# With content only
SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_RESULT: Final = "gen_ai.tool.call.result"
CORRECTION_REASONS: Final = "mentis.correction.reasons"
TEXT: Final = "mentis.text"  # of an event of a tick

# Names that others write, of the conventions of today and of before; read, and never written here
TOOL_DEFINITIONS: Final = "gen_ai.tool.definitions"
RESPONSE_ID: Final = "gen_ai.response.id"
DETAILS_EVENT: Final = "gen_ai.client.inference.operation.details"
INDEXED_PROMPT: Final = "gen_ai.prompt."  # and a number: OpenLLMetry
INDEXED_COMPLETION: Final = "gen_ai.completion."
INDEXED_FUNCTION: Final = "llm.request.functions."
MESSAGE_EVENTS: Final[Mapping[str, str]] = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
CHOICE_EVENT: Final = "gen_ai.choice"
EVENTS: Final = "events"  # of pydantic-ai: the events as one JSON
EVENT_NAME: Final = "event.name"
CONTENT_EVENTS: Final[Mapping[str, str]] = {
    "gen_ai.content.prompt": "gen_ai.prompt",
    "gen_ai.content.completion": "gen_ai.completion",
}
CALLS: Final = (CHAT, "text_completion", "generate_content")
AGENTS: Final = (INVOKE_AGENT, "create_agent", "invoke_workflow")
PROVIDER_NAMES: Final = (PROVIDER, "gen_ai.system")
MODEL_NAMES: Final = (REQUEST_MODEL, RESPONSE_MODEL)
SESSION_NAMES: Final = (CONVERSATION, "session.id")
HTTP_STATUS: Final = "http.response.status_code"
SERVICE: Final = "service.name"
INPUT_COUNTS: Final = (INPUT_TOKENS, "gen_ai.usage.prompt_tokens")
OUTPUT_COUNTS: Final = (OUTPUT_TOKENS, "gen_ai.usage.completion_tokens")
READ_COUNTS: Final = (
    CACHE_READ,
    "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.details.cache_read_tokens",
)
WRITE_COUNTS: Final = (
    CACHE_WRITE,
    "gen_ai.usage.cache_creation_input_tokens",
    "gen_ai.usage.details.cache_write_tokens",
)
REASONING_COUNTS: Final = (REASONING_TOKENS, "gen_ai.usage.details.reasoning_tokens")

# An error that happened in the span
EXCEPTION: Final = "exception"
EXCEPTION_TYPE: Final = "exception.type"
EXCEPTION_MESSAGE: Final = "exception.message"

# Attributes of our own
MODE: Final = "mentis.mode"
STOP: Final = "mentis.stop"
STEPS: Final = "mentis.steps"
ENTRY: Final = "mentis.entry.hash"
ENTRY_INDEX: Final = "mentis.entry.index"
ROUTE: Final = "mentis.route"
CORRECTION: Final = "mentis.correction"
CORRECTION_FAILURES: Final = "mentis.correction.failures"
PAYLOAD: Final = "mentis.payload.digest"
LIBRARY: Final = "mentis.library.digest"
BLOCKS: Final = "mentis.blocks"
EVIDENCE: Final = "mentis.evidence"
ACT_KEY: Final = "mentis.act.key"
ACT_STATE: Final = "mentis.act.state"
ACT_SOURCE: Final = "mentis.act.source"
TEXTS: Final = "mentis.embeddings.texts"
INTERRUPTED: Final = "mentis.interrupted"
REVISION: Final = "mentis.state.revision"
NOOP: Final = "mentis.tick.noop"
SENSES: Final = "mentis.tick.senses"
ACTS: Final = "mentis.tick.acts"
FACTS: Final = "mentis.facts"
SUCCESS: Final = "mentis.persona_update.success"
FAILURE: Final = "mentis.persona_update.failure"
WRITTEN: Final = "mentis.persona_update.written"

# Values
FUNCTION: Final = "function"
TICK: Final = "tick"
PERSONA_UPDATE: Final = "persona_update"
EMBEDDER: Final = "mentis.embedder"
PROVIDERS: Final[Mapping[Backend, str]] = {
    "embedded": "mentis.embedded",
    "scripted": "mentis.scripted",
    "replay": "mentis.replay",
    "openai": "openai",
    "openai-responses": "openai",
    "anthropic": "anthropic",
    "gemini": "gcp.gemini",
}
# Places that speak OpenAI's format and have a name of their own, by the end of their address.
HOSTS: Final[Mapping[str, str]] = {
    "openai.azure.com": "azure.ai.openai",
    "aiplatform.googleapis.com": "gcp.vertex_ai",
    "amazonaws.com": "aws.bedrock",
    "api.deepseek.com": "deepseek",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral_ai",
    "api.x.ai": "x_ai",
    "api.perplexity.ai": "perplexity",
}
FINISHES: Final[Mapping[Stop, str]] = {
    "end": "stop",
    "tool_use": "tool_call",
    "filtered": "content_filter",
}
