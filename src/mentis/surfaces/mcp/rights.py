"""Rights of a client: everything on standard input, what its token allows over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mentis.errors import AccessDenied

_WRITING = frozenset({"save_status"})
# For people who are not the owner, and tokens for one conversation: what was said with themselves,
# and what is no secret. Windows, counts and prompts tell of others.
_GUEST_TOOLS = frozenset({"search_conversations"})
_GUEST_RESOURCES = frozenset(
    {"ruleset", "regelwerk", "conversation_history", "chatverlauf_kb_info"}
)


def _every(_session: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class ClientRights:
    """`sees` says whether a session is one of theirs."""

    owner: bool = True
    writes: bool = True
    sees: Callable[[str], bool] = _every

    def offers_tool(self, name: str) -> bool:
        """Whether it is listed for this client."""
        return (self.owner or name in _GUEST_TOOLS) and (self.writes or name not in _WRITING)

    def offers_resource(self, name: str) -> bool:
        """The same of a resource."""
        return self.owner or name in _GUEST_RESOURCES

    def check_tool(self, name: str) -> None:
        if not self.owner and name not in _GUEST_TOOLS:
            raise _for_the_owner(f"the tool {name!r} is")
        if not self.writes and name in _WRITING:
            raise AccessDenied(
                f"the tool {name!r} writes, and this token may only read",
                hint="make one that may write: mentis tokens new NAME --scope chat",
                status=403,
            )

    def check_resource(self, name: str) -> None:
        if not self.offers_resource(name):
            raise _for_the_owner(f"the resource {name!r} is")

    def check_prompts(self) -> None:
        if not self.owner:
            raise _for_the_owner("prompts are")


def _for_the_owner(what: str) -> AccessDenied:
    return AccessDenied(f"{what} for the owner alone", hint="ask the owner", status=403)
