"""Character cards held against readers and writers of other people, in an environment of their own:
what leaves here is read there, and what they write is read here.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import cast

import pytest
from tests.card_files import CARD, png
from tests.programs.jobs import installed

from mentis import Personas, create_home
from mentis.homes import export_persona, import_file

pytestmark = pytest.mark.slow
READER = """
import json, sys, tavern_card
data = tavern_card.parse_png_card(open(sys.argv[1], "rb").read())["data"]
names = ("name", "description", "personality", "scenario", "first_mes", "mes_example")
print(json.dumps({name: data[name] for name in names}))
"""
# Each writes the card of the first file into the picture that is the second. (aichar reads only
# cards that are flat, as it writes them itself, so nothing of ours is given to it to read.)
PILLOW = """
import base64, json, sys
from PIL import Image, PngImagePlugin
text = base64.b64encode(open(sys.argv[1], "rb").read()).decode()
held = PngImagePlugin.PngInfo()
held.{add}
Image.open(sys.argv[2]).save(sys.argv[2], pnginfo=held)
"""
WRITERS = {
    "tavern-card": """
import json, sys, tavern_card
card = tavern_card.parse_card(json.load(open(sys.argv[1])))
picture = open(sys.argv[2], "rb").read()
open(sys.argv[2], "wb").write(tavern_card.write_png_card(card, picture))
""",
    "aichar": """
import json, sys, aichar
data = json.load(open(sys.argv[1]))["data"]
names = ("name", "description", "personality", "scenario", "first_mes", "mes_example")
card = aichar.create_character(*(data[name] for name in names), sys.argv[2])
card.export_neutral_card_file(sys.argv[2])
""",
    "Pillow, tEXt": PILLOW.format(add='add_text("chara", text)'),
    "Pillow, zTXt": PILLOW.format(add='add_text("chara", text, zip=True)'),
    "Pillow, iTXt": PILLOW.format(add='add_itxt("chara", text)'),
    "Pillow, iTXt compressed": PILLOW.format(add='add_itxt("chara", text, zip=True)'),
}


def run(script: str, *arguments: Path) -> str:
    command = [str(installed("cards") / "python"), "-c", script, *map(str, arguments)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_card_that_leaves_here_is_read_by_another_program(tmp_path: Path) -> None:
    home, file, picture = create_home(tmp_path / "home"), tmp_path / "card.json", tmp_path / "a.png"
    file.write_text(json.dumps(CARD), encoding="utf-8")
    import_file(home, file)
    picture.write_bytes(export_persona(home, "seraphina", format="card-png").data)
    told = json.loads(run(READER, picture))
    data = cast("dict[str, str]", CARD["data"])
    assert told == {name: data[name] for name in told}
    assert len(told) == 6


@pytest.mark.parametrize("writer", WRITERS)
def test_a_card_that_others_write_is_read_here(tmp_path: Path, writer: str) -> None:
    file, picture = tmp_path / "card.json", tmp_path / "card.png"
    file.write_text(json.dumps(CARD), encoding="utf-8")
    picture.write_bytes(png())
    run(WRITERS[writer], file, picture)
    home = create_home(tmp_path / "home")
    import_file(home, picture)
    with Personas.open(home) as personas:
        made = personas.read("seraphina")
    assert made.name == "Seraphina"
    assert made.traits[0].description.startswith("kind")
    assert made.greeting == "*She smiles at User.*"
