"""The sections of `mentis.toml`, what each setting means and what it defaults to."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from mentis.compose.placeholders import Policy

from .constant import Constant
from .section import SettingsSection


class StoreSettings(SettingsSection):
    """The database of the home."""

    busy_seconds: Annotated[
        float, Field(ge=0, description="How long to wait while another process writes.")
    ] = 5.0


class LedgerSettings(SettingsSection):
    """Where the record of what happened is kept."""

    store: Annotated[
        Literal["sqlite", "postgres"],
        Field(description="In the home's own database, or in PostgreSQL (extra `postgres`)."),
    ] = "sqlite"
    url: Annotated[
        str,
        Field(
            description="Address of the PostgreSQL database, without a password; one of the"
            " environment (PGPASSWORD) is not sent to where mentis.toml points."
        ),
    ] = ""
    url_env: Annotated[
        str,
        Field(
            description="Environment variable, or entry of the system's keyring, that holds the"
            " address with its password; it comes before `ledger.url`."
        ),
    ] = "LEDGER_URL"
    schema_name: Annotated[
        str,
        Field(
            pattern=r"^[a-z_][a-z0-9_]{0,62}$",
            description="Schema in the PostgreSQL database; homes of the same name need their own.",
        ),
    ] = "mentis"
    holds: Annotated[
        Literal["record", "home"],
        Field(
            description="What lies in PostgreSQL: the record with its turns, or the whole home, so"
            " that agents of it can live on many machines. `mentis move` sets this."
        ),
    ] = "record"
    origin: Annotated[
        str,
        Field(
            pattern=r"^[^\s+]*$",
            description="Name of the log in checkpoints, such as example.org/ada; pinned here and"
            " never read from the database.",
        ),
    ] = ""
    public_key: Annotated[
        str,
        Field(description="The Ed25519 key, in base64, whose signatures count; pinned here too."),
    ] = ""
    key_env: Annotated[
        str,
        Field(
            description="Environment variable, or entry of the system's keyring, that holds the"
            " signing key; empty means a file in your configuration folder (or MENTIS_CONFIG)."
        ),
    ] = ""
    anchors: Annotated[
        tuple[str, ...],
        Field(
            description="Where each checkpoint is kept outside, too: `file:PATH` or `git:FOLDER`;"
            " `mentis ledger anchor add` writes this, and one it did not add is not used."
        ),
    ] = ()
    segments: Annotated[
        str,
        Field(
            description="Folder for sealed segments; relative to the home, empty means"
            " `ledger/PERSONA`."
        ),
    ] = ""
    keep_segments_days: Annotated[
        int,
        Field(
            ge=0,
            description="How old a segment has to be for `mentis ledger rotate --expire` to delete"
            " it; 0 keeps them all.",
        ),
    ] = 0
    checkpoint_entries: Annotated[
        int, Field(ge=1, description="Sign a checkpoint after so many entries.")
    ] = 100
    checkpoint_seconds: Annotated[
        float, Field(gt=0, description="Or after so many seconds, if there is a new entry.")
    ] = 600.0


class MemoriesSettings(SettingsSection):
    """The memories that are searched: facts, decisions, episodes."""

    store: Annotated[
        Literal["sqlite", "postgres"],
        Field(
            description="In the home's own database, or in PostgreSQL, where `ledger.url` points"
            " (extra `postgres`)."
        ),
    ] = "sqlite"
    index: Annotated[
        Literal["exact", "server"],
        Field(
            description="Search vectors exactly in this process (extra `recall`), or let PostgreSQL"
            " with pgvector find the candidates."
        ),
    ] = "exact"
    exact_up_to: Annotated[
        int,
        Field(
            ge=1,
            description="Up to so many vectors all are looked at; more are searched by an index"
            " that is made in the background.",
        ),
    ] = 50_000
    text_chars: Annotated[
        int, Field(ge=1, description="Longest memory that is taken, in characters.")
    ] = 8_000
    import_bytes: Annotated[
        int, Field(ge=1024, description="Largest file of memories that is imported, in bytes.")
    ] = 50_000_000
    half_life_days: Annotated[
        float,
        Field(ge=0, description="Days after which a memory counts half in a search; 0 never."),
    ] = 0.0


class RecallSettings(SettingsSection):
    """What comes to mind for a message: tools, skills and memories."""

    embedder: Annotated[
        Literal["auto", "minilm", "ngrams", "off"],
        Field(
            description="What compares by meaning: the best there is, one of them, or none; then"
            " words alone are compared."
        ),
    ] = "auto"
    max_tools: Annotated[
        int,
        Field(ge=1, le=1000, description="Most tools that are declared; fewer are all declared."),
    ] = 10
    max_skills: Annotated[
        int, Field(ge=0, le=100, description="Most skills that are told of in one turn.")
    ] = 3
    max_memories: Annotated[
        int, Field(ge=0, le=100, description="Most memories that a message brings up.")
    ] = 3
    embed_seconds = Constant(
        5.0,
        "How long a turn waits for the embedder or the manifest.",
        "Past it words alone are compared: a longer wait makes a turn slower, not better.",
    )


class StatusSettings(SettingsSection):
    """Status windows and how they come in."""

    window: Annotated[
        Literal["off", "model"],
        Field(
            description="Whether the model opens its answers with a window (`model`), which is kept"
            " out of the text, judged, held against what was done and recorded with the turn."
        ),
    ] = "off"
    profile: Annotated[
        str,
        Field(
            description="Rules that the windows of this home's own agent are judged by: `mentis`,"
            " `s2-4.0`, `strict`, `as-run`, or one of the home's `guardian.toml`."
        ),
    ] = "mentis"
    outside: Annotated[
        str,
        Field(
            description="Rules for windows that come from outside: `status add`, files, MCP"
            " clients. Empty means `profile` where that is set, else `as-run`: findings, and"
            " nothing refused that the origin's program kept."
        ),
    ] = ""
    schema_versions: Annotated[
        tuple[str, ...],
        Field(description="Versions a window may name; empty means those of the profile."),
    ] = ()
    pending: Annotated[
        str,
        Field(
            description="The single slot, relative to the home, on the same disk; empty means"
            " `status/PERSONA/pending_status.json`, and with a single persona also"
            " `status/pending_status.json`."
        ),
    ] = ""
    scan_seconds = Constant(
        2.0,
        "How often the watcher looks without an event.",
        "Events tell of new files; this look is for disks that have none, and costs nothing.",
    )
    lease_seconds = Constant(
        30.0,
        "How long a watcher that died on another machine keeps others out.",
        "Long enough for a slow disk, short enough that a watcher that died is replaced at once.",
    )
    conversations: Annotated[
        bool,
        Field(
            description="Whether clients of `mentis mcp` may read and search what was said with the"
            " persona: screened, and between marks."
        ),
    ] = True
    monitor: Annotated[
        bool,
        Field(description="Whether `mentis mcp` consumes slot and spool; the watcher must be off."),
    ] = False


class LimitSettings(SettingsSection):
    """What is refused for being too large."""

    message_chars: Annotated[
        int, Field(ge=1, description="Longest message the agent takes, in characters.")
    ] = 100_000
    attachments: Annotated[int, Field(ge=0, description="Most attachments of one message.")] = 16
    attachment_bytes: Annotated[
        int, Field(ge=1, description="Largest attachment that is read and sent, in bytes.")
    ] = 20_000_000
    document_chars: Annotated[
        int,
        Field(
            ge=1,
            description="Most of a PDF that is told to a model that takes no documents, in"
            " characters; needs the extra `documents`.",
        ),
    ] = 100_000
    memory_chars: Annotated[
        int, Field(ge=1, description="Longest a persona's memory file may get, in characters.")
    ] = 8_000
    prompt_file_bytes: Annotated[
        int, Field(ge=1024, description="Largest prompt file that is read, in bytes.")
    ] = 5_000_000
    answer_bytes: Annotated[
        int, Field(ge=1024, description="Longest answer that is read from a server, in bytes.")
    ] = 8_000_000


class BudgetSettings(SettingsSection):
    """What may be spent. A call that could go over it is not made; 0 means no limit."""

    turn_tokens: Annotated[
        int, Field(ge=0, description="Most tokens one turn may use, read and written together.")
    ] = 0
    day_tokens: Annotated[
        int,
        Field(ge=0, description="Most tokens an agent may use in a day (UTC), in all processes."),
    ] = 0
    agent_tokens: Annotated[
        int, Field(ge=0, description="Most tokens an agent may use in all its turns.")
    ] = 0
    turn_usd: Annotated[
        float,
        Field(ge=0, description="Most US dollars one turn may cost; needs the extra `prices`."),
    ] = 0.0
    day_usd: Annotated[
        float,
        Field(
            ge=0,
            description="Most US dollars an agent may use in a day, in all processes; needs the"
            " extra `prices`.",
        ),
    ] = 0.0
    agent_usd: Annotated[
        float,
        Field(
            ge=0,
            description="Most US dollars an agent may use in all its turns; needs `prices`.",
        ),
    ] = 0.0


class CorrectionSettings(SettingsSection):
    """Asking the model again for what it got wrong."""

    calls: Annotated[
        int,
        Field(
            ge=1,
            le=20,
            description="Most calls of one turn, or of the primary of a tick, the first included;"
            " 1 never asks again.",
        ),
    ] = 3


class TurnSettings(SettingsSection):
    """How far one turn goes."""

    max_steps: Annotated[
        int,
        Field(
            ge=1,
            le=100,
            description="Most answers of the model in one turn: after each its calls are done and"
            " their results told. 1 tells them in the next turn.",
        ),
    ] = 12
    queue: Annotated[
        int,
        Field(
            ge=0,
            le=10_000,
            description="Most messages of one session that wait while another one is answered. One"
            " more is refused. Sessions do not wait for each other.",
        ),
    ] = 16
    depth: Annotated[
        int,
        Field(
            ge=0,
            le=32,
            description="How deep agents may ask agents: 1 is an agent that is asked by the one you"
            " speak with. The least of all agents above holds too.",
        ),
    ] = 3


class FallbackSettings(SettingsSection):
    """What happens when no route answers."""

    repeat_seconds: Annotated[
        int,
        Field(
            ge=0,
            le=86_400,
            description="Repeat an earlier answer to the same message in the same conversation if"
            " it is no older, marked as such. 0 never does.",
        ),
    ] = 0
    repeat_turns = Constant(
        512,
        "How many of the newest turns are searched for it.",
        "`fallback.repeat_seconds` says how old an answer may be; this only bounds the search.",
    )


class BreakerSettings(SettingsSection):
    """Leaving a server alone that keeps failing."""

    failures: Annotated[
        int, Field(ge=1, description="Failures in a row after which it is not asked for a while.")
    ] = 5
    seconds: Annotated[
        float, Field(gt=0, description="How long that is; then one call tries it again.")
    ] = 30.0


class TelemetrySettings(SettingsSection):
    """Spans for OpenTelemetry, in a program that has set it up."""

    content: Annotated[
        bool,
        Field(
            description="Spans say what was said too: messages, instructions, arguments and results"
            " of tools, what a tick reads and decides, the words of errors."
        ),
    ] = False


class RecordSettings(SettingsSection):
    """Exchanges kept as files, to look at and to replay."""

    folder: Annotated[
        str,
        Field(
            description="Folder for one file per exchange, without keys; relative to the home."
            " Empty records nothing."
        ),
    ] = ""


class FeatureSettings(SettingsSection):
    """What can be switched off. A change counts from the next request on."""

    persona_memory: Annotated[
        bool,
        Field(description="Whether the persona's own memory files are read and told."),
    ] = True
    experimental_variant: Annotated[
        bool,
        Field(
            description="Whether routes of the variant `default` are told the variant"
            " `experimental`; counts when an agent is opened."
        ),
    ] = False
    afterthoughts: Annotated[
        bool,
        Field(
            description="Whether the agent thinks by itself about writing once more, as"
            " `afterthought.mode` says."
        ),
    ] = False
    prompt_caching: Annotated[
        bool,
        Field(description="Whether cache markers are sent; ENABLE_PROMPT_CACHING sets it too."),
    ] = True


class PlaceholderSettings(SettingsSection):
    """What stands where a placeholder has no value, by where the block goes."""

    system_prompt: Annotated[
        Policy, Field(description="In the system prompt: keep the key, leave it empty, or fail.")
    ] = "keep"
    message: Annotated[Policy, Field(description="The same in messages.")] = "keep"
    prefill: Annotated[Policy, Field(description="The same in prefills.")] = "keep"
