"""Words as they are compared: folded, and which of them only hold a sentence together.

Shared by ranking (recall) and by the embedder that reads other languages (engines).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from types import MappingProxyType


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTION_WORDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "en": _words(
            """
            a about all also am an and any are as at be been before being but by can
            could did do does doing done for from get give given got had has have he
            her here him his how i if in into is it its just let like make me my no
            not now of off on one or our out over please s she should so some such t
            than that the their them then there these they this those to too up us
            very was we were what when where which who why will with would you your
            im ll re ve d don won cant
            """
        ),
        "de": _words(
            """
            aber alle allem allen als am an auch auf aus bei bin bis bist bitte da
            damit das dass dein deine deinem deinen deiner dem den denn der des dich
            die dies diese diesem diesen dieser dieses dir doch du ein eine einem
            einen einer eines er es etwas euch fur gibt hab habe haben hat hatte
            hier ich ihm ihn ihr ihre im in ins ist ja jetzt kann kannst kein keine
            mach mal man mein meine meinem meinen meiner mich mir mit nach nicht
            noch nur ob oder ohne schon sein seine sich sie sind so soll sollen und
            uns unser unsere unter vom von vor war was wenn wer wie will wir wird wo
            worin zu zum zur uber
            """
        ),
        "fr": _words(
            """
            a ai as au aux avec c ca ce cela ces cet cette ceux comme d dans de des
            dis donne du elle elles en est et eu fais faire fait il ils j je l la le
            les leur lui m ma mais me mes mets moi mon n ne nos notre nous on ont ou
            par pas plus plait pour qu que quel quelle quels quelles qui s sa se ses
            si son sont suis sur t ta te tes toi ton tout toute tous tu un une va
            vos votre vous y
            """
        ),
        "pt": _words(
            """
            a ao aos as com como da das de dela dele deles do dos e ela ele eles em
            entre era essa esse esta este estes estas estou eu faca foi ha isso isto
            ja la lhe mais mas me mesmo meu meus mim minha minhas muito na nas nao
            no nos nossa nosso num numa o os ou para pela pelo por porque qual quais
            quando que quem quero se sem ser seu seus so sua suas tambem te tem
            tenho ter um uma umas uns voce voces
            """
        ),
        "es": _words(
            """
            a al algo ante como con cual cuales cuando de del dame desde dime donde
            e el ella ellas ellos en entre era eres es esa ese eso esta estan este
            esto estos estas estoy fue ha hay haz he la las le les lo los mas me mi
            mis mucho muy nada ni no nos nosotros nuestra nuestro o os para pero por
            porque que quien quiero se ser si sin sobre son su sus tambien te tengo
            ti tiene tu tus un una uno unos y ya yo
            """
        ),
    }
)
ALL_FUNCTION_WORDS: frozenset[str] = frozenset(
    word for words in FUNCTION_WORDS.values() for word in words
)


def fold(text: str) -> str:
    """Case and accents taken away, compatibility forms made plain."""
    if text.isascii():
        return text.lower()
    spread = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in spread if not unicodedata.combining(character))
