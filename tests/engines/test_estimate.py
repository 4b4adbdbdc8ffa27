from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mentis.engines.estimate import EstimatingCounter

# Counted by the tokenizer of SmolLM2; none of these was used to fit the estimate.
COUNTED = {
    "en": (
        73,
        (
            "The harbour was founded by fishermen in the twelfth century and grew rich on "
            "salt, herring and timber. After the great fire of 1687 the council rebuilt the "
            "warehouses in brick, and many of them still stand along the northern quay. Today "
            "the old customs house holds a museum, a library and a small theatre that is open "
            "from April to October."
        ),
    ),
    "de": (
        139,
        (
            "Der Hafen wurde im zwölften Jahrhundert von Fischern gegründet und durch Salz, "
            "Hering und Holz reich. Nach dem großen Brand von 1687 ließ der Rat die "
            "Lagerhäuser aus Backstein wieder aufbauen, und viele davon stehen noch heute am "
            "nördlichen Kai. Im alten Zollhaus befinden sich ein Museum, eine Bibliothek und "
            "ein kleines Theater, das von April bis Oktober geöffnet ist."
        ),
    ),
    "fr": (
        135,
        (
            "Le port fut fondé par des pêcheurs au douzième siècle et s'enrichit grâce au sel, "
            "au hareng et au bois. Après le grand incendie de 1687, le conseil fit "
            "reconstruire les entrepôts en brique, et beaucoup d'entre eux se dressent encore "
            "le long du quai nord. L'ancienne douane abrite aujourd'hui un musée, une "
            "bibliothèque et un petit théâtre ouvert d'avril à octobre."
        ),
    ),
    "pt": (
        132,
        (
            "O porto foi fundado por pescadores no século doze e enriqueceu com o sal, o "
            "arenque e a madeira. Depois do grande incêndio de 1687, o conselho reconstruiu os "
            "armazéns em tijolo, e muitos deles ainda estão de pé ao longo do cais norte. A "
            "antiga alfândega abriga hoje um museu, uma biblioteca e um pequeno teatro aberto "
            "de abril a outubro."
        ),
    ),
    "es": (
        128,
        (
            "El puerto fue fundado por pescadores en el siglo doce y se enriqueció con la sal, "
            "el arenque y la madera. Después del gran incendio de 1687, el consejo hizo "
            "reconstruir los almacenes de ladrillo, y muchos de ellos siguen en pie a lo largo "
            "del muelle norte. La antigua aduana alberga hoy un museo, una biblioteca y un "
            "pequeño teatro abierto de abril a octubre."
        ),
    ),
    "zh": (
        199,
        (
            "你是一个有耐心的伙伴,先倾听,再回答。说话要简单,承认你不知道的事情,绝不编造来源。"
            "当对方听起来疲倦或难过时,请放慢速度,问一个简单的问题。不要给出没有人要求的建议,除"
            "非另有说明,否则每个回答都不要超过五句话。请始终保持真诚和友善。"
        ),
    ),
    "ja": (
        242,
        (
            "あなたはまず耳を傾け、それから答える忍耐強い仲間です。簡潔に話し、知らないことは認め"
            "、決して出典を作り上げないでください。相手が疲れていたり悲しそうだったりするときは、"
            "ゆっくりと一つの簡単な質問をしてください。求められていない助言はせず、答えは五文以内"
            "にしてください。"
        ),
    ),
}
CODE = (
    103,
    '''def remove_weights(name: str, catalogue: Mapping[str, Weights] = CATALOGUE) -> Path | None:
    """Take the file away and say where it was; None when there was none."""
    path = _place(_known(name, catalogue))
    if not path.exists():
        return None
    for part in range(10, 250, 3):
        total += part * 2
    path.unlink()
    return path
''',
)


def error(counted: tuple[int, str]) -> float:
    tokens, text = counted
    return abs(EstimatingCounter().count(text).tokens / tokens - 1)


@pytest.mark.parametrize("language", ["en", "de", "fr", "pt", "es", "zh", "ja"])
def test_the_estimate_of_prose_is_within_fifteen_percent(language: str) -> None:
    assert error(COUNTED[language]) < 0.15


def test_the_estimate_of_code_is_within_twenty_percent() -> None:
    assert error(CODE) < 0.20


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), (" ", 1), ("the", 1), ("2026", 4), ("\N{ROCKET}", 3)]
)
def test_small_texts_have_small_counts(text: str, tokens: int) -> None:
    assert EstimatingCounter().count(text).tokens == tokens


@given(st.text())
def test_any_text_gets_the_same_count_twice_and_is_never_called_exact(text: str) -> None:
    count = EstimatingCounter().count(text)
    assert count == EstimatingCounter().count(text)
    assert not count.exact
    assert (count.tokens == 0) == (text == "")


@given(st.text(min_size=1))
@example("\x1f0\xa0")
def test_a_text_said_twice_costs_about_twice(text: str) -> None:
    def tokens(said: str) -> int:
        return EstimatingCounter().count(said).tokens

    head, tail = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    # Blanks that meet between the two are one run, which costs more than its two parts.
    met = max(0, tokens(f"{tail}\n{head}") - tokens(f"{tail}\n") - tokens(head))
    once, twice = tokens(f"{text}\n"), tokens(f"{text}\n" * 2)
    assert once <= twice <= 2 * once + 2 + met


@pytest.mark.parametrize(
    ("blank", "counted"),
    [(" ", 157), ("\n", 2500), ("\t", 1250), (" \n", 10_000), ("\t ", 20_000), ("\u3000", 20_000)],
)
def test_blanks_cost_more_the_more_there_are(blank: str, counted: int) -> None:
    """Counted by the tokenizer of SmolLM2, ten thousand times each."""
    estimated = EstimatingCounter().count(blank * 10_000).tokens
    assert counted * 0.99 <= estimated <= counted * 2.5


@pytest.mark.parametrize("gap", ["\n", "\n\n", "\n    ", "\n\n        ", "\r\n\r\n", "    "])
def test_a_line_end_and_an_indent_are_about_one_token(gap: str) -> None:
    words = EstimatingCounter().count("aa bb " * 50).tokens
    assert EstimatingCounter().count(f"aa{gap}bb " * 50).tokens - words in range(50, 56)
