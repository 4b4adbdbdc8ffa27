"""Formats of the JSON files of a prompt set. Fields not named here are allowed and kept."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, RootModel

from mentis.values.block import Category, Mode, Position, Target, current_mode_name
from mentis.values.keywords import SecondaryLogic
from mentis.values.stability import Stability
from mentis.values.trust import Trust

# Strictness is for numbers and flags given as text; an enum has no other form in JSON than text.
_Stability: TypeAlias = Annotated[Stability, Field(strict=False)]
_Trust: TypeAlias = Annotated[Trust, Field(strict=False)]
# A plain file name: no folder, no drive, not hidden, not one of the `_meta` kind.
_FileName: TypeAlias = Annotated[str, Field(pattern=r"^[^\W_][\w.-]*\.json$")]
_Mode: TypeAlias = Annotated[Mode, BeforeValidator(current_mode_name)]
_Key: TypeAlias = Annotated[str, Field(pattern=r"^\w+$")]

# A default that is made anew costs less than one that is copied.
_NONE: list[str] = Field(default_factory=list[str])


class FileEntry(BaseModel):
    """Strict about what it knows, silent about what it does not."""

    model_config = ConfigDict(strict=True, extra="allow")


class KeywordsEntry(FileEntry):
    """When what was said brings a block up; messages are counted, and tokens."""

    keys: list[str]
    secondary: list[str] = _NONE
    logic: SecondaryLogic = "any"
    whole_words: bool = True
    case_sensitive: bool = False
    scan_depth: Annotated[int, Field(ge=1, le=1000)] = 2
    sticky: Annotated[int, Field(ge=0)] = 0
    cooldown: Annotated[int, Field(ge=0)] = 0
    delay: Annotated[int, Field(ge=0)] = 0
    probability: Annotated[int, Field(ge=0, le=100)] = 100
    wakes: bool = True
    woken: bool = True
    depth: Annotated[int, Field(ge=0, le=1000)] = 4
    book: str = ""
    budget: Annotated[int, Field(ge=0)] = 0


class BlockEntry(FileEntry):
    """One block in the manifest."""

    name: str
    type: Literal["text", "multi_turn"]
    target: Target
    position: Position
    order: Annotated[float, Field(allow_inf_nan=False)]
    enabled: bool
    domain_file: _FileName
    description: str = ""
    category: Category = "custom"
    tags: list[str] = _NONE
    variant_condition: str | None = None
    requires_any: list[str] = _NONE
    requires_all: list[str] = _NONE
    requires_none: list[str] = _NONE
    modes: list[_Mode] = Field(default_factory=list[_Mode])
    group: str | None = None
    stability: _Stability | None = None
    trust: _Trust = Trust.OWNER
    priority: int = 0
    max_tokens: Annotated[int, Field(gt=0)] | None = None
    required: bool = False
    keep_with: str | None = None
    personas: list[str] = _NONE
    keywords: KeywordsEntry | None = None


class PromptManifest(FileEntry):
    version: str
    prompts: Annotated[dict[Annotated[str, Field(min_length=1)], BlockEntry], Field(min_length=1)]


class UserManifest(FileEntry):
    """The owner's manifest. A block that is shipped has only the fields the owner changed."""

    version: str
    prompts: dict[Annotated[str, Field(min_length=1)], BlockEntry]


class MessageEntry(FileEntry):
    role: Literal["system", "user", "assistant"]
    content: str


class VariantEntry(FileEntry):
    """A text block has `content`, a multi-turn block `messages`."""

    content: str | None = None
    messages: list[MessageEntry] | None = None


class ContentEntry(FileEntry):
    """One block in a domain file."""

    variants: Annotated[dict[str, VariantEntry], Field(min_length=1)]
    placeholders_used: list[str] = _NONE


class Domain(RootModel[dict[str, ContentEntry]]):
    """A domain file: one block, or several."""


class PlaceholderEntry(FileEntry):
    name: str
    source: Literal[
        "persona_config", "user_profile", "computed", "runtime", "static", "custom", "user"
    ]
    resolve_phase: Literal["static", "computed", "runtime"]
    stability: _Stability | None = None
    description: str = ""
    category: str = ""
    source_path: str = ""
    type: Literal["string", "number", "list", "message_array"] = "string"
    default: str | int | float | list[str] | None = None
    default_when_empty: bool = False
    compute_function: str = ""
    join_separator: str = ", "


class PlaceholderRegistry(FileEntry):
    version: str
    placeholders: dict[_Key, PlaceholderEntry]


class BaseEntry(FileEntry):
    """What a shipped field held when the owner changed it."""

    digest: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
    value: object


class Overrides(FileEntry):
    """Block, then the path of the field (`meta.order`, `variants.default`), then its base."""

    version: str
    overrides: dict[str, dict[str, BaseEntry]]


class Words(RootModel[dict[str, dict[str, list[str]]]]):
    """Language, then topic, then the words: what computed placeholders say in each language."""
