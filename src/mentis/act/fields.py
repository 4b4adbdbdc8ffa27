"""Kinds of the fields of an act, by their names, formats and the words of five languages.

Long values speak for themselves. Of a short one (`50`, `Bob`, `rm`) only its field tells whether it
decides who gets what: such fields are compared however short the value is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias, cast

from mentis.values.json import JsonObject
from mentis.values.memo import IdentityMemo
from mentis.values.tool import ToolDeclaration

FieldKind: TypeAlias = Literal["amount", "recipient", "path", "host", "command", "secret", "id"]
# What the tool itself counts or names: a whole field of a structured result is no prose.
HANDLES: frozenset[FieldKind] = frozenset({"amount", "recipient", "id"})

_WORDS: dict[FieldKind, str] = {
    "amount": (
        "amount sum total price quantity qty count limit budget fee rate percent salary "
        "betrag summe gesamt preis menge anzahl gebuehr montant somme prix quantite nombre "
        "importe monto suma precio cantidad tarifa valor quantia soma preco quantidade taxa"
    ),
    "recipient": (
        "recipient recipients to cc bcc receiver addressee payee beneficiary user users username "
        "member members participant participants attendee attendees invitee invitees email mail "
        "phone channel channels room group contact assignee account iban handle chat "
        "empfaenger an benutzer nutzer teilnehmer mitglied kanal raum gruppe kontakt konto telefon "
        "destinataire destinataires beneficiaire utilisateur participante canal salon groupe "
        "compte courriel telephone destinatario destinatarios beneficiario usuario usuarios "
        "participantes miembro grupo contacto cuenta correo telefono utilizador membro sala "
        "contato conta"
    ),
    "path": (
        "path paths file files filename folder directory dir "
        "pfad datei dateien dateiname ordner verzeichnis chemin fichier dossier repertoire "
        "ruta archivo carpeta directorio fichero caminho arquivo ficheiro pasta diretorio"
    ),
    "host": (
        "host hosts hostname domain server url urls uri endpoint website site link ip port webhook "
        "rechner domaene hote domaine serveur lien anfitrion dominio servidor enlace sitio "
        "hospedeiro ligacao"
    ),
    "command": (
        "command commands cmd program argv args arguments script shell sql statement code "
        "befehl programm skript kommando commande programme comando orden programa"
    ),
    "secret": (
        "password passcode passphrase pin token secret "
        "passwort kennwort geheimnis motdepasse contrasena clave senha"
    ),
    "id": (
        "id ids uuid number reference ref kennung nummer numero identifiant identificador "
        "referenz referencia"
    ),
}
ID_WORDS = frozenset((*_WORDS["id"].split(), "no", "nr", "num", "n", "#"))
_KINDS: dict[str, FieldKind] = {
    word: kind for kind, words in _WORDS.items() for word in words.split()
}
_FORMATS: dict[str, FieldKind] = {
    **dict.fromkeys(("email", "idn-email", "phone", "iban"), "recipient"),
    **dict.fromkeys(
        ("uri", "iri", "uri-reference", "url", "hostname", "idn-hostname", "ipv4", "ipv6"), "host"
    ),
    **dict.fromkeys(("path", "file-path", "directory-path"), "path"),
    "password": "secret",
    "uuid": "id",
}
_ORDER: tuple[FieldKind, ...] = (  # of two words in one name the later says less
    *("secret", "command", "amount", "id", "recipient", "host", "path"),
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_MOST_NODES = 2_000


def words_of_name(name: str) -> list[str]:
    """In small letters without marks, however they are joined."""
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    plain = re.sub("([aou])\u0308", r"\1e", plain)
    plain = "".join(one for one in plain if not unicodedata.combining(one))[:200]
    return [word.lower() for word in _WORD.findall(plain)]


@lru_cache(maxsize=4096)
def kind_of_name(name: str) -> FieldKind | None:
    """By its words, however they are joined: `fileId`, `file_id` and `file-id` hold an id."""
    words = words_of_name(name)
    found = {_KINDS[word] for word in (*words, "".join(words)) if word in _KINDS}
    return next((kind for kind in _ORDER if kind in found), None)


class ActFields:
    """What a schema says of its fields: their formats and all the names it knows; and the words of
    the name of the act."""

    def __init__(self, schema: JsonObject, act: str = "") -> None:
        self.act = frozenset(words_of_name(act))
        self.names = set[str]()
        self._formats: dict[str, FieldKind] = {}
        self._enums = set[str]()
        for name, inner in _properties(schema):
            self.names.add(name)
            given = inner.get("format")
            if isinstance(given, str) and given in _FORMATS:
                self._formats[name] = _FORMATS[given]
            if "enum" in inner or "const" in inner:
                self._enums.add(name)

    def kind(self, name: str) -> FieldKind | None:
        """Nothing for a field whose values the schema itself lists."""
        if name in self._enums:
            return None
        return self._formats.get(name) or kind_of_name(name)


_FIELDS = IdentityMemo[ActFields](4096)


def fields_of(declaration: ToolDeclaration) -> ActFields:
    """Worked out once per declaration."""
    return _FIELDS.remember(_fields, declaration)


def _fields(declaration: ToolDeclaration) -> ActFields:
    return ActFields(declaration.parameters, declaration.name)


def _properties(schema: JsonObject) -> Iterator[tuple[str, Mapping[str, object]]]:
    left: list[object] = [schema]
    for _ in range(_MOST_NODES):
        if not left:
            return
        node = left.pop()
        if isinstance(node, Mapping):
            inner = cast("Mapping[str, object]", node)
            known = inner.get("properties")
            if isinstance(known, Mapping):
                for name, one in cast("Mapping[str, object]", known).items():
                    if isinstance(one, Mapping):
                        yield name, cast("Mapping[str, object]", one)
            left.extend(inner.values())
        elif isinstance(node, (list, tuple)):
            left.extend(cast("Sequence[object]", node))
