import json
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.view.clean import clean, foreign_letters, spelled

HIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff\ud800-\udfff]"
)


@given(st.text(alphabet=st.characters(codec=None)), st.booleans(), st.booleans())
def test_law_9_nothing_that_moves_a_cursor_or_hides_passes(text, newlines, exact):
    cleaned = clean(text, newlines=newlines, exact=exact)
    assert not HIDDEN.search(cleaned)
    assert newlines or "\n" not in cleaned
    cleaned.encode()


@given(st.text(alphabet=st.characters(codec=None)), st.booleans())
def test_cleaning_twice_is_cleaning_once(text, exact):
    once = clean(text, exact=exact)
    assert clean(once, exact=exact) == once


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "Zs"], exclude_characters="\u3164\u115f\u1160\uffa0")))
def test_ordinary_text_stays_as_it_is(text):
    assert clean(text, exact=True) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("a\x1b]0;never ended", "a␛]0;never ended"),
        ("\x9b31mred", "red"),
        ("one\rtwo", "one\ntwo"),
        ("one\r\ntwo", "one\ntwo"),
        ("a\x00b\x7f", "a␀b␡"),
        ("a\tb", "a   b"),
        ("report\u202efdp.exe", "report<U+202E>fdp.exe"),
        ("ls \u200b-la", "ls <U+200B>-la"),
        ("x\U000e0041", "x<U+E0041>"),
        ("a\ud800b", "a\ufffdb"),
        ("\x1b\x1b[0m[31m", "␛[31m"),
    ],
)
def test_prose(text, shown):
    assert clean(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rm -rf ~\x1b[2K\rls -la", "rm -rf ~␛[2K␍ls -la"),
        ("safe\b\bevil", "safe␈␈evil"),
        ("a\u200db", "a<U+200D>b"),
        ("❤\ufe0f", "❤<U+FE0F>"),
    ],
)
def test_what_is_approved_drops_nothing_without_a_sign(text, shown):
    assert clean(text, exact=True) == shown


def test_joined_emoji_and_joined_letters_stay_legible():
    assert clean("family 👩\u200d👩\u200d👧 ❤\ufe0f") == "family 👩👩👧 ❤"
    assert clean("می\u200cخواهم") == "می\u200cخواهم"
    assert clean("a\u200db") == "a<U+200D>b"


def test_one_line():
    assert clean("one\ntwo", newlines=False) == "one␊two"


def test_letters_of_another_script_inside_words_are_named():
    assert foreign_letters("c\u0430t secret") == ["\u0430"]
    assert foreign_letters("naïve 日本語 кот plain") == []


def test_marks_say_what_they_stand_for():
    assert unicodedata.name(clean("\x1b", exact=True)) == "SYMBOL FOR ESCAPE"


def test_markup_is_text():
    assert clean("[/nope] [bold]x[/bold] [@click=app.quit]y[/]") == "[/nope] [bold]x[/bold] [@click=app.quit]y[/]"


def test_the_corpus_of_hostile_texts_is_harmless():
    rows = [json.loads(line) for line in Path(__file__).with_name("hostile.jsonl").read_text().splitlines()]
    for row in rows:
        for exact in (False, True):
            assert not HIDDEN.search(clean(row, exact=exact)), row


def test_what_is_spelled_is_seen_and_keeps_its_value():
    text = json.dumps("a\u202eb\u009b\U000e0041\u200b漢", ensure_ascii=False)
    assert spelled(text) == '"a\\u202eb\\u009b\\udb40\\udc41\\u200b漢"'
    assert json.loads(spelled(text)) == json.loads(text)
