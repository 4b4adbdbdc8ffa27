"""All operations, and the commands that have none, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping

from . import (
    acts,
    comparing,
    composing,
    conversations,
    home,
    living,
    memories,
    personas,
    prompts,
    record,
)
from .operation import ApiOperation, OperationTable

TABLES: tuple[OperationTable, ...] = (
    personas.table,
    conversations.table,
    composing.table,
    comparing.table,
    prompts.table,
    memories.table,
    acts.table,
    living.table,
    record.table,
    home.table,
)
OPERATIONS: tuple[ApiOperation, ...] = tuple(row for table in TABLES for row in table)
_PROGRAM = "it is a program of its own, which runs beside the server"
_MACHINE = "it is about this machine, and not about a home"
_VOUCHING = "what may run here, and where keys go, is said by a person at the machine"
_WITNESS = "a witness is no home; it runs on another machine, and has an HTTP surface of its own"
_MEASURE = "it measures, with files of the machine"
# Commands that have no operation, or only a part of one.
NO_OPERATION: Mapping[str, str] = {
    "init": "a home that is served is there already",
    "demo": _MACHINE,
    "upgrade": "a home that is served was brought up to date when it was opened",
    "backup": f"{_MACHINE}: it names a file on its disks, and whoever reads that reads everything",
    "restore": f"{_MACHINE}: a home that is served is there already",
    "worker": _PROGRAM,
    "workers list": "it is about processes, which a person looks after",
    "workers drain": "it is about processes, which a person looks after",
    "send": "a program that is connected already asks under /conversations",
    "move": f"{_MACHINE}: nobody may be at work in the home, and a server is",
    "view": f"{_MACHINE}: it is about a folder of it",
    "adopt": "who may write under which key is said by a person at the machine",
    "run": _PROGRAM,
    "record": f"{_PROGRAM}; what it recorded is under /recorded",
    "record ca show": _MACHINE,
    "record ca remove": _MACHINE,
    "mcp": _PROGRAM,
    "serve": _PROGRAM,
    "studio": _PROGRAM,
    "completion": _MACHINE,
    "channels add": _VOUCHING,
    "channels list": f"{_VOUCHING}; it names variables of the machine",
    "channels pair": "who the owner is is said by a person at the machine",
    "channels rm": _VOUCHING,
    "channels run": _PROGRAM,
    "channels trust": _VOUCHING,
    "tools add": _VOUCHING,
    "tools trust": _VOUCHING,
    "routes trust": _VOUCHING,
    "trust": _VOUCHING,
    "trust list": f"{_VOUCHING}; it names variables and files of the machine",
    "trust revoke": _VOUCHING,
    "status watch": f"{_PROGRAM}; its drafts are spooled by /windows/spool",
    "ledger accept-rollback": "it is decided where the checkpoints are kept, with their files",
    "ledger anchor add": "it names places on the disks of the machine",
    "ledger anchor remove": "it names places on the disks of the machine",
    "ledger anchor quorum": "how many must sign is kept with the keys, by a person at the machine",
    "witness init": _WITNESS,
    "witness serve": _WITNESS,
    "witness show": _WITNESS,
    "witness watch": _WITNESS,
    "manifest build": f"{_MACHINE}: it embeds ahead what is else embedded when it is needed",
    "manifest check": f"{_MACHINE}: it looks at what was embedded ahead",
    "doctor": f"{_MACHINE}: it reads the logs of other programs on its disk",
    "eval memory": _MEASURE,
    "eval run": _MEASURE,
    "eval screening": _MEASURE,
    "eval selection": _MEASURE,
    "models": f"{_MACHINE}: weights are on its disk",
    "models add": f"{_MACHINE}: a file on its disk is named",
    "models choose": "it asks a person; PUT /settings/routes.default writes the same line",
    "models install": f"{_MACHINE}: weights are on its disk",
    "models list": f"{_MACHINE}: weights are on its disk",
    "models path": f"{_MACHINE}: weights are on its disk",
    "models rm": f"{_MACHINE}: weights are on its disk",
    "models serve": _PROGRAM,
}
