from __future__ import annotations

from pathlib import Path

from mentis.engines.wordpiece import WordPiece, read_vocabulary

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##want", "##ed", "run", "!", "_", "日"]
WORDS = WordPiece({piece: number for number, piece in enumerate(PIECES)}, longest=8)


def named(text: str) -> list[str]:
    return [PIECES[number] for number in WORDS.pieces(text)][1:-1]


def test_a_word_is_its_longest_known_pieces() -> None:
    assert named("Unwanted run!") == ["un", "##want", "##ed", "run", "!"]


def test_a_word_with_an_unknown_part_is_unknown_as_a_whole() -> None:
    assert named("runx") == ["[UNK]"]
    assert named("r" * 200) == ["[UNK]"]


def test_accents_case_and_invisible_characters_do_not_count() -> None:
    assert named("R\u00daN\u200b") == ["run"]


def test_underscores_and_unspaced_scripts_stand_alone() -> None:
    assert named("run_日日") == ["run", "_", "日", "日"]


def test_what_is_past_the_longest_is_left_out() -> None:
    assert len(WORDS.pieces("run " * 100)) == 8


def test_the_vocabulary_is_numbered_by_line(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_text("a\nb\n", encoding="utf-8")
    assert read_vocabulary(path) == {"a": 0, "b": 1}
