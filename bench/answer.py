"""A long markdown answer that is the same every time, cut into pieces as a tokeniser would cut it.

Holds none of the glyphs in `terminal.PROBES`, so that a typed glyph is seen only as its own echo.
"""

import random
import re
from functools import lru_cache

WORDS = """
    a river keeps its bed while the water changes and whoever maps it draws the banks first then the islands which move
    slowly and last the boats because they are gone before the ink has dried on the paper of the morning
""".split()  # noqa: SIM905
WIDE = "河流保持河床而水不断变化绘图的人先画两岸再画慢慢移动的岛屿川は流れ続け地図は乾く"
CODE = {
    "python": [
        "def banks(path: Path) -> list[str]:",
        '    """Names, sorted."""',
        "    rows = path.read_text().splitlines()  # one a line",
        "    return sorted(row for row in rows if row)",
    ],
    "sh": ["set -eu", "for boat in boats/*.txt; do", '  wc -l "$boat"', "done"],
    "json": ["{", '  "river": "north",', '  "islands": [3, 5, 8],', '  "mapped": false', "}"],
}


@lru_cache(maxsize=8)
def pieces(size: int, end: str = "") -> tuple[str, ...]:
    """About `size` bytes in pieces of about 3.5 bytes; `end` is the last piece, whole."""
    dice = random.Random(size)
    blocks: list[str] = []
    length = 0
    while length < size:
        block = _block(dice, len(blocks))
        blocks.append(block)
        length += len(block.encode())
    text = "".join(blocks) + "The end. "
    return (*re.findall(r"\s?[A-Za-z_]{1,5}|\s+|[^\sA-Za-z_]{1,2}", text), end)


def _block(dice: random.Random, number: int) -> str:
    match number % 7:
        case 0:
            return f"## Part {number // 7 + 1}: {_some(dice, 4)}\n\n"
        case 2:
            language = dice.choice(sorted(CODE))
            return f"```{language}\n" + "\n".join(CODE[language] * dice.randint(1, 3)) + "\n```\n\n"
        case 3:
            items = [f"{'  ' * dice.randint(0, 1)}- {_sentence(dice)}" for _ in range(dice.randint(3, 7))]
            return "\n".join(items) + "\n\n"
        case 4:
            rows = [f"| {_some(dice, 1)} | {dice.randint(1, 999)} | {_some(dice, 3)} |" for _ in range(dice.randint(3, 8))]
            return "\n".join(["| name | cost | note |", "| --- | ---: | --- |", *rows]) + "\n\n"
        case 5:
            at = dice.randint(0, len(WIDE) - 20)
            return f"{WIDE[at : at + 20]}，{WIDE[::-1][at : at + 20]}。🚀 ✅ {_some(dice, 3)}\n\n"
        case 6:
            return f"> {_sentence(dice)}\n\n"
        case _:
            return " ".join(_sentence(dice) for _ in range(dice.randint(3, 6))) + "\n\n"


def _sentence(dice: random.Random) -> str:
    words = _some(dice, dice.randint(7, 20)).split()
    at = dice.randrange(len(words))
    words[at] = dice.choice(["**{}**", "`{}`", "*{}*", "{}", "{}", "{}"]).format(words[at])
    return " ".join(words).capitalize() + "."


def _some(dice: random.Random, count: int) -> str:
    return " ".join(dice.choice(WORDS) for _ in range(count))
