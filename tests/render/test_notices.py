"""What renderers tell a model is the library's to say, in every language it speaks well."""

from __future__ import annotations

import ast
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import mentis.render
from mentis.render.notices import TOPICS, Notices
from mentis.render.wires import RENDERERS, render_for
from mentis.values.part import MediaPart
from mentis.values.request import PromptRequest

from .conftest import PNG, ROUTES

WORDS: dict[str, Any] = json.loads(
    files("mentis.library").joinpath("shipped/_meta/words.json").read_text("utf-8")
)
RENDER = Path(mentis.render.__path__[0])
SPEAKING = ("notice", "Span", "Text", "Sourced")
SENTENCE = re.compile(r"[A-Za-z]{2,} +[A-Za-z]{2,}")


@pytest.mark.parametrize("language", ["english", "german", "french", "spanish", "portuguese"])
def test_the_library_has_words_for_every_topic_with_all_its_facts(language: str) -> None:
    for topic, facts in TOPICS.items():
        text = " ".join(WORDS[language][topic])
        assert set(re.findall(r"\{\{(\w+)\}\}", text)) == set(facts), (language, topic)


def test_renderers_ask_for_no_other_topic() -> None:
    asked = set(re.findall(r'"((?:notice|reason)_\w+)"', sources()))
    assert asked == {topic for topic in TOPICS if not topic.startswith("kind_")}


def sources() -> str:
    return "\n".join(path.read_text("utf-8") for path in sorted(RENDER.glob("*.py")))


@pytest.mark.parametrize("path", sorted(RENDER.glob("*.py")), ids=lambda path: path.stem)
def test_no_renderer_holds_a_sentence_for_a_model(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in SPEAKING and node.args:
            for part in ast.walk(node.args[0]):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    assert not SENTENCE.search(part.value), f"{path.name}:{part.lineno}"


def test_facts_are_filled_in_once_and_never_read_as_a_template() -> None:
    notices = Notices({"notice_result": "[{{name}} {{other}}]"})
    assert notices.say("notice_result", name="{{name}}") == "[{{name}} {{other}}]"


@pytest.mark.parametrize("wire", [wire for wire in RENDERERS if wire != "live"])
def test_a_request_without_words_is_told_in_codes(wire: str) -> None:
    image = MediaPart("image", "image/png", PNG, name="cat.png")
    route = ROUTES[wire]
    blind = type(route)(route.name, route.backend, route.model, facts={"vision": False})
    body = render_for(wire, PromptRequest(attachments=(image,)), blind).body()
    assert b"[notice_not_sent image cat.png [reason_no_vision]]" in body


def test_a_notice_speaks_the_language_of_the_request() -> None:
    words = {topic: " ".join(said) for topic, said in WORDS["german"].items()}
    image = MediaPart("image", "image/png", PNG, name="katze.png")
    request = PromptRequest(attachments=(image,), words=words)
    prompt = render_for("text", request, ROUTES["text"]).body().decode()
    assert "[Bild katze.png war angehängt, wurde aber nicht gesendet: dieses Modell" in prompt
