"""Whether the model may, must or must not use a tool, as far as it lets itself be told."""

from __future__ import annotations

from mentis.errors import RenderError
from mentis.facts.ability import Abilities
from mentis.values.rendering import Loss
from mentis.values.request import PromptRequest, ToolChoice

from .draft import PayloadDraft


def wire_tool_choice(
    request: PromptRequest, draft: PayloadDraft, able: Abilities
) -> ToolChoice | None:
    """What to write, with the name on the wire; None where there is nothing to say."""
    wanted = wanted_choice(request, draft)
    if wanted.mode == "auto":
        return None
    check_choice(request, wanted)
    if not draft.tools:
        if request.tool_declarations or wanted.mode != "none":
            _free(draft, wanted, "there are no native tools in this payload")
        return None
    if wanted.mode in ("required", "one") and not able.forced_tool_choice:
        _free(draft, wanted, "this model lets nobody force a tool")
        return None
    return ToolChoice(wanted.mode, draft.wire_name(wanted.name) if wanted.name else "")


def wanted_choice(request: PromptRequest, draft: PayloadDraft) -> ToolChoice:
    """What the request says; where it leaves it open, what the options say. Where a tool gives the
    answer, one has to be used: that one, or another before it.
    """
    choice = _chosen(request, draft)
    if not draft.output_tool or choice.mode == "one":
        return choice
    if choice.mode == "none" or len(request.tool_declarations) == 1:
        return ToolChoice("one", draft.output_tool)
    return ToolChoice("required")


def _chosen(request: PromptRequest, draft: PayloadDraft) -> ToolChoice:
    """What options force is forced once: after the first step the turn must be able to end."""
    option = draft.options.tool_choice
    if request.tool_choice.mode != "auto" or option in ("", "auto"):
        return request.tool_choice
    if option == "none":
        return ToolChoice(option)
    if request.continuation:
        return request.tool_choice
    if option == "required":
        return ToolChoice(option)
    if any(tool.name == option for tool in request.tool_declarations):
        return ToolChoice("one", option)
    _free(draft, ToolChoice("one", option), "it is not among the tools declared")
    return request.tool_choice


def check_choice(request: PromptRequest, wanted: ToolChoice) -> None:
    if wanted.mode != "one":
        return
    names = [tool.name for tool in request.tool_declarations]
    if wanted.name not in names:
        raise RenderError(
            f"the tool {wanted.name!r} is to be used and is not among those declared",
            hint=f"there are: {', '.join(names) or 'none'}",
            tool=wanted.name,
        )


def _free(draft: PayloadDraft, wanted: ToolChoice, why: str) -> None:
    what = f"{wanted.mode} {wanted.name}".strip()
    draft.losses.append(Loss("tool-choice", f"{what!r} became 'auto': {why}"))


def for_chat(choice: ToolChoice) -> object:
    if choice.mode == "one":
        return {"type": "function", "function": {"name": choice.name}}
    return choice.mode


def for_responses(choice: ToolChoice) -> object:
    return {"type": "function", "name": choice.name} if choice.mode == "one" else choice.mode


def for_anthropic(choice: ToolChoice, parallel: bool | None = None) -> dict[str, object]:
    made: dict[str, object] = {"type": "any" if choice.mode == "required" else choice.mode}
    if choice.mode == "one":
        made = {"type": "tool", "name": choice.name}
    if parallel is not None and choice.mode != "none":
        made["disable_parallel_tool_use"] = not parallel
    return made


def for_gemini(choice: ToolChoice | None) -> dict[str, object]:
    """Without a choice, calls are held to their schemas; where one is forced, they always are."""
    if choice is None:
        return {"functionCallingConfig": {"mode": "VALIDATED"}}
    if choice.mode == "none":
        return {"functionCallingConfig": {"mode": "NONE"}}
    calling: dict[str, object] = {"mode": "ANY"}
    if choice.mode == "one":
        calling["allowedFunctionNames"] = [choice.name]
    return {"functionCallingConfig": calling}
