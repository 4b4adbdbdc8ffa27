"""The settings of the options of a route's calls."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from mentis.codec.option_check import check_options
from mentis.errors import OptionError
from mentis.values.options import CallOptions, Effort, Summary

from .section import SettingsSection


class OptionSettings(SettingsSection):
    """Options of every call on a route; temperature, seed and max_tokens are settings beside it."""

    top_p: Annotated[float | None, Field(ge=0, le=1, description="Nucleus of the sampling.")] = None
    top_k: Annotated[int | None, Field(ge=0, description="Most likely tokens drawn from.")] = None
    min_p: Annotated[
        float | None, Field(ge=0, le=1, description="Least share of the likeliest token.")
    ] = None
    frequency_penalty: Annotated[
        float | None, Field(ge=-2, le=2, description="Against tokens that came often.")
    ] = None
    presence_penalty: Annotated[
        float | None, Field(ge=-2, le=2, description="Against tokens that came at all.")
    ] = None
    repetition_penalty: Annotated[
        float | None, Field(ge=0, le=10, description="Factor against repetition; 1 is none.")
    ] = None
    stop: Annotated[tuple[str, ...], Field(description="Texts at which an answer ends.")] = ()
    reasoning_effort: Annotated[
        Effort | None, Field(description="How hard the model is to think.")
    ] = None
    reasoning_budget: Annotated[
        int | None, Field(ge=0, description="Most tokens of reasoning; 0 switches it off.")
    ] = None
    reasoning_summary: Annotated[
        Summary | None, Field(description="Whether, and how, the reasoning is told.")
    ] = None
    tool_choice: Annotated[
        str, Field(description="`auto`, `none`, `required`, or the name of a tool.")
    ] = ""
    parallel_calls: Annotated[
        bool | None, Field(description="Whether one answer may call several tools.")
    ] = None
    service_tier: Annotated[str, Field(description="Tier of service, by its provider's name.")] = ""
    cache_diagnostics: Annotated[
        bool | None,
        Field(description="Whether the provider is asked what changed for its cache."),
    ] = None
    betas: Annotated[
        tuple[str, ...], Field(description="Features in the provider's header for betas.")
    ] = ()
    safety: Annotated[dict[str, str], Field(description="Thresholds by category (`gemini`).")] = (
        Field(default_factory=dict[str, str])
    )
    server_tools: Annotated[
        tuple[dict[str, object], ...],
        Field(description="Tools that the provider executes, in its own words."),
    ] = ()
    headers: Annotated[
        dict[str, str], Field(description="More headers; none for keys, none of the connection.")
    ] = Field(default_factory=dict[str, str])
    body: Annotated[
        dict[str, object], Field(description="More members of the payload; none that is there.")
    ] = Field(default_factory=dict[str, object])

    @model_validator(mode="after")
    def _can_be_sent(self) -> OptionSettings:
        if self.model_fields_set:
            try:
                check_options(self.as_options())
            except OptionError as error:
                raise ValueError(f"{error.message}; {error.hint}") from error
        return self

    def as_options(self) -> CallOptions:
        return CallOptions(**{name: getattr(self, name) for name in self.model_fields_set})
