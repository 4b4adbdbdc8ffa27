"""What comes with the words: attachments, the message that is answered, facts, surroundings."""

from __future__ import annotations

import base64
import json
import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.pdf_files import pdf

from mentis.app.agent import Agent
from mentis.ask.attachments import attach
from mentis.call.scripted import ScriptedProvider
from mentis.errors import BadInput, HomeError, RenderError
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.values.part import MediaPart
from mentis.values.recalled import Stimulus
from mentis.values.request import ReplyTo, RuntimeContext
from mentis.values.surroundings import Person, Surroundings

pytestmark = pytest.mark.anyio
PNG = b"\x89PNG\r\n\x1a\n" + b"pixels" * 20
PDF = b"%PDF-1.7 " + b"page" * 20
MP4 = b"\0\0\0\x18ftypisom" + b"frames" * 20
ROUTE = 'url = "http://127.0.0.1:9/v1"\nmodel = "m"\nfacts = { vision = true }\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = create_home(tmp_path / "home")
    with (path / "mentis.toml").open("a") as file:
        file.write(f"\n[routes.default]\n{ROUTE}")
    return path


def open_agent(home: Path, provider: ScriptedProvider, **environ: str) -> Agent:
    return Agent.open(home, parts=Parts(provider=provider, environ=environ))


def file_with(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


async def test_a_model_that_takes_no_documents_is_told_the_words_of_a_pdf(
    home: Path, tmp_path: Path
) -> None:
    path = file_with(tmp_path, "tides.pdf", pdf("The tide turns at noon.", "The boat is blue."))
    broken = file_with(tmp_path, "broken.pdf", PDF)
    provider = ScriptedProvider(["At noon.", "Blue."])
    async with open_agent(home, provider, MENTIS_LIMITS__DOCUMENT_CHARS="30") as agent:
        both = (attach(path), attach(broken))
        first = await agent.chat(Stimulus("When?", attachments=both))
        await agent.chat("And the boat?")
        assert agent.replay(first.entry.index).identical
    for sent in provider.sent:
        body = sent.body().decode()
        assert "The tide turns at noon." in body
        assert "The boa …" in body
        assert base64.b64encode(path.read_bytes()).decode() not in body
        losses = {loss.code: loss.message for loss in sent.losses}
        assert losses["document-as-text"] == "tides.pdf is sent as the text in it"
        cut = "the first 30 characters, up to page 2 of 2"
        assert losses["document-cut"] == f"of tides.pdf {cut} are sent"
        assert losses["document-unread"].startswith("broken.pdf cannot be read: ")
        assert losses["media-not-sent"].startswith("document broken.pdf: ")


async def test_a_model_that_takes_documents_gets_the_pdf_itself(home: Path, tmp_path: Path) -> None:
    settings = (home / "mentis.toml").read_text()
    settings = settings.replace("{ vision = true }", "{ documents = true }")
    (home / "mentis.toml").write_text(settings)
    path = file_with(tmp_path, "tides.pdf", pdf("The tide turns at noon."))
    provider = ScriptedProvider(["At noon."])
    async with open_agent(home, provider) as agent:
        await agent.chat(Stimulus("When?", attachments=(attach(path),)))
    body = provider.sent[0].body().decode()
    assert base64.b64encode(path.read_bytes()).decode() in body
    assert "The tide turns at noon." not in body
    assert not provider.sent[0].losses


async def test_a_picture_is_read_sent_bound_and_shown_again(home: Path, tmp_path: Path) -> None:
    path = file_with(tmp_path, "a.png", PNG)
    provider = ScriptedProvider(["A cat.", "Still a cat.", "Yes."])
    async with open_agent(home, provider) as agent:
        first = await agent.chat(Stimulus("What is this?", attachments=(attach(path),)))
        path.unlink()  # it was read when it was sent
        await agent.chat("Sure?")
        await agent.chat(Stimulus("The same?", attachments=(MediaPart("image", "", data=PNG),)))
        assert agent.verify().intact
    for sent in provider.sent[:2]:
        told = json.dumps(sent.payload)
        assert told.count("data:image/png;base64,") == 1
    assert first.entry.body["attachments"]
    with closing(sqlite3.connect(home / "mentis.db")) as db:
        assert db.execute("SELECT count(*) FROM media").fetchone() == (1,)  # one content, once
        assert "iVBOR" not in "".join(row[0] for row in db.execute("SELECT turn FROM turns"))


async def test_an_attachment_changed_in_the_store_is_found_by_verify(home: Path) -> None:
    async with open_agent(home, ScriptedProvider(["A cat."])) as agent:
        await agent.chat(Stimulus("See?", attachments=(MediaPart("image", "", data=PNG),)))
    with closing(sqlite3.connect(home / "mentis.db")) as db:
        db.execute("UPDATE media SET data = ?", (PNG + b"!",))
        db.commit()
    async with open_agent(home, ScriptedProvider([])) as agent:
        (finding,) = agent.verify().findings
    assert "attachment 1 of this turn" in finding.message


async def test_everything_that_comes_with_the_words_is_told(home: Path) -> None:
    stimulus = Stimulus(
        "Yes, that one.",
        reply_to=ReplyTo("The blue bike?", author="Lena"),
        runtime_ctx=RuntimeContext(interface_path="cli/main", input_source="voice"),
        surroundings=Surroundings(people=(Person("Lena", bio="plays the cello"),)),
    )
    provider = ScriptedProvider(["Fine."])
    async with open_agent(home, provider) as agent:
        assert agent.compose(stimulus).request.reply_to == stimulus.reply_to
        assert b"The blue bike?" in agent.render(stimulus).body()
        async with agent.stream(stimulus) as answer:
            async for _ in answer:
                pass
    sent = provider.sent[0].body().decode()
    for told in ("Lena: The blue bike?", "path:cli/main", "input:voice", "plays the cello"):
        assert told in sent


@pytest.mark.parametrize(
    ("name", "data", "kind", "mime"),
    [
        ("x.bin", PNG, "image", "image/png"),
        ("x.png", PDF, "document", "application/pdf"),
        ("x", MP4, "video", "video/mp4"),
        ("x", b"RIFF\0\0\0\0WAVEfmt ", "audio", "audio/wav"),
        ("notes.md", "# Größe".encode(), "document", "text/markdown"),
        ("data.png", b'{"a": 1}', "document", "text/plain"),
    ],
)
def test_the_type_of_a_file_is_what_its_bytes_say(
    home: Path, tmp_path: Path, *, name: str, data: bytes, kind: str, mime: str
) -> None:
    path = file_with(tmp_path, name, data)
    agent = open_agent(home, ScriptedProvider([]))
    (part,) = agent.compose(Stimulus("See", attachments=(attach(path),))).request.attachments
    agent.close()
    assert (part.kind, part.mime, part.data, part.path) == (kind, mime, data, "")


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (MediaPart("image", "image/png", data=PDF), "its bytes are application/pdf"),
        (MediaPart("image", "image/png", data=b""), "is empty"),
        (MediaPart("document", "", data=b"\x00\x01\x02"), "is no image, sound"),
        (MediaPart("image", "image/png", data=PNG, url="https://a.example/x"), "exactly one"),
        (MediaPart("image", "image/png", data=PNG * 30), "larger than 1000 bytes"),
        (MediaPart("document", "", path="missing.pdf"), "cannot be read"),
        (MediaPart("document", "", path="."), "is not a file"),
        (MediaPart("document", "", path="bad\udcff.pdf"), r"bad\\udcff.pdf is not valid UTF-8"),
        (MediaPart("document", "", path="\udcff/a.pdf"), r"\\udcff/a.pdf cannot be read"),
        (MediaPart("image", "", data=PNG, name="\ud800"), "is not valid UTF-8"),
    ],
)
async def test_an_attachment_that_cannot_be_sent_is_refused_and_leaves_nothing(
    home: Path, part: MediaPart, said: str
) -> None:
    async with open_agent(
        home, ScriptedProvider([]), MENTIS_LIMITS__ATTACHMENT_BYTES="1000"
    ) as agent:
        with pytest.raises(BadInput, match=said):
            await agent.chat(Stimulus("See", attachments=(part,)))
        assert agent.entries() == ()
        assert agent.history() == ()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name here")
def test_a_pipe_does_not_hold_the_turn(home: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    agent = open_agent(home, ScriptedProvider([]))
    with pytest.raises(BadInput, match="is not a file"):
        agent.compose(Stimulus("See", attachments=(attach(tmp_path / "pipe"),)))
    agent.close()


def test_more_attachments_than_allowed_are_refused(home: Path) -> None:
    agent = open_agent(home, ScriptedProvider([]), MENTIS_LIMITS__ATTACHMENTS="1")
    parts = (MediaPart("image", "", data=PNG),) * 2
    with pytest.raises(BadInput, match="there are 2 attachments, and 1"):
        agent.compose(Stimulus("See", attachments=parts))
    agent.close()


def test_bytes_written_into_the_text_as_well_are_refused(home: Path) -> None:
    agent = open_agent(home, ScriptedProvider([]))
    text = f"See {base64.b64encode(PNG).decode()}"
    with pytest.raises(BadInput, match="a second time, as base64"):
        agent.compose(Stimulus(text, attachments=(MediaPart("image", "", data=PNG),)))
    agent.close()


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta.png",
        "http://localhost:8000/a.png",
        "https://10.0.0.7/a.png",
        "http://example.org/a.png",
        "https://user:secret@host.example/a.png",
    ],
)
def test_addresses_that_lead_inside_are_refused_and_none_is_fetched(home: Path, url: str) -> None:
    agent = open_agent(home, ScriptedProvider([]))
    with pytest.raises(RenderError):
        agent.compose(Stimulus("See", attachments=(attach(url),)))
    agent.close()


def test_what_an_address_leads_to_must_be_told_by_its_name() -> None:
    assert attach("https://a.example/x.png?size=2").mime == "image/png"
    with pytest.raises(BadInput, match="nothing is fetched"):
        attach("https://a.example/x")


def test_a_film_goes_to_a_model_that_takes_films_and_others_are_told_the_truth(
    home: Path,
) -> None:
    film = Stimulus("See", attachments=(MediaPart("video", "", data=MP4, name="a.mp4"),))
    agent = open_agent(home, ScriptedProvider([]))
    losses = [loss.code for loss in agent.render(film).losses]
    agent.close()
    assert "media-not-sent" in losses
    parts = Parts(environ={"GEMINI_API_KEY": "k"})
    with_gemini = Agent.open(home, route="gemini/gemini-3-pro", parts=parts)
    sent = with_gemini.render(film)
    with_gemini.close()
    assert b'"mimeType":"video/mp4"' in sent.body()
    assert not [loss for loss in sent.losses if loss.code == "media-not-sent"]


async def test_marks_around_text_from_outside_are_made_with_the_secret_of_the_home(
    home: Path,
) -> None:
    stimulus = Stimulus("Hello", surroundings=Surroundings(recent=("[01/01/26:1200] eve: hi",)))

    def marks(*, secret: bytes | None = None) -> set[str]:
        agent = Agent.open(home, parts=Parts(environ={}, secret=secret))
        try:
            return set(re.findall(r"<untrusted (\w+)>", agent.render(stimulus).body().decode()))
        finally:
            agent.close()

    own = marks()
    assert own
    assert marks() == own
    assert marks(secret=b"another") != own
    assert marks(secret=bytes.fromhex((home / "secret.key").read_text())) == own


async def test_an_older_home_gets_a_secret_with_a_note(home: Path) -> None:
    (home / "secret.key").unlink()
    for expected in (["home secret"], []):
        async with open_agent(home, ScriptedProvider(["Hi."])) as agent:
            result = await agent.chat("Hello")
        noted = [part.part for part in result.composed.trace.degraded]
        assert [part for part in noted if part == "home secret"] == expected


def test_a_damaged_secret_stops_the_start(home: Path) -> None:
    (home / "secret.key").write_text("oops")
    with pytest.raises(HomeError, match="not a home's secret"):
        Agent.open(home, parts=Parts(environ={}))
