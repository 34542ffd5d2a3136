import codecs

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agentcli.errors import ToolError
from agentcli.workspace.encoding import Guess, encoding_of
from agentcli.workspace.text import Writing, replace_text, writing_of

JAPANESE = "# これは設定ファイルを読み込む関数です 表\\n\n"
CHINESE = "# 读取配置文件，返回一个字典；出错时返回空\nx = 1\n"
KNOWN = {
    "gbk": (CHINESE, "gbk"),
    "shift-jis": (JAPANESE, "cp932"),
    "euc-jp": (JAPANESE, "euc_jp"),
    "euc-kr": ("# 설정 파일을 읽어 사전을 반환한다, 오류가 나면 빈 값을 반환한다\n", "euc_kr"),
    "big5": ("# 讀取設定檔，傳回一個字典；出錯時傳回空\n", "big5"),
    "latin-1": ("# élève été où çà\n", "latin-1"),
    "cp1252": ("x = “quoted” — dash\n", "cp1252"),
}


@pytest.mark.parametrize(("text", "encoding"), KNOWN.values(), ids=KNOWN)
def test_an_encoding_is_known_by_enough_of_its_letters(text, encoding):
    assert encoding_of(text.encode(encoding)) == Guess(encoding, True)


OPEN = {
    "a word of gbk": "# 你好世界\n".encode("gbk"),
    "a word of shift-jis": "表示\n".encode("cp932"),
    "cyrillic": "# Привет, мир\n".encode("cp1251"),
    "koi8": "# Привет, мир\n".encode("koi8-r"),
    "greek": "# Καλημέρα κόσμε\n".encode("cp1253"),
    "thai": "สวัสดีครับ ผมชื่อ\n".encode("cp874"),
    "capitals": "МОСКВА РОССИЯ\n".encode("cp1251"),
    "dos": "caf\u00e9 na\u00efve\n".encode("cp437"),
    "mac": "caf\u00e9 na\u00efve\n".encode("mac-roman"),
    "half a letter": b"# \xc4\xe3\xba\n",
}


@pytest.mark.parametrize("data", OPEN.values(), ids=OPEN)
def test_what_may_be_several_is_never_called_known(data):
    assert not encoding_of(data).sure


@pytest.mark.parametrize("data", OPEN.values(), ids=OPEN)
def test_law_11_in_an_open_encoding_ascii_is_edited_and_nothing_else(data):
    with_code = b"x = 1\n" + data
    assert replace_text(with_code, "x = 1", "y = 22", False) == b"y = 22\n" + data
    with pytest.raises(ToolError, match=r"not certain.*iconv"):
        replace_text(with_code, "x = 1", "x = '\u00e9'", False)
    seen = writing_of(with_code).decode(with_code).split("\n")[1]
    with pytest.raises(ToolError, match="not certain"):
        replace_text(with_code, seen, "# gone", False)


DECLARED = {
    "python": ("# -*- coding: gbk -*-\n# 你好\n", "gbk"),
    "xml": ('<?xml version="1.0" encoding="Shift_JIS"?><a>表</a>', "shift_jis"),
    "html": ('<meta charset="windows-1251"><p>Привет', "cp1251"),
    "css": ('@charset "iso-8859-15";\n/* 5 \u20ac */', "iso8859-15"),
    "vim": ("/* vim: set fileencoding=euc-kr : */\n// 안녕\n", "euc_kr"),
}


@pytest.mark.parametrize(("text", "encoding"), DECLARED.values(), ids=DECLARED)
def test_a_declared_encoding_counts_where_all_bytes_are_text_of_it(text, encoding):
    assert encoding_of(text.encode(encoding)) == Guess(encoding, True)


@pytest.mark.parametrize("code", ['open(x, encoding="latin-1")', "\n\n# coding: gbk", 'charset = "gbk"', "encoding: gbk"])
def test_code_that_names_an_encoding_declares_none(code):
    assert encoding_of(code.encode()) == Guess("utf-8", True)


def test_what_is_declared_holds_for_the_first_letter_too():
    assert replace_text(b"# coding: gbk\nx = 1\n", "1", "'\u4e2d'", False) == "# coding: gbk\nx = '\u4e2d'\n".encode("gbk")


def test_utf8_that_declares_something_else_is_known_as_neither():
    assert encoding_of("<meta charset=gbk>你好".encode()) == Guess("utf-8", False)
    assert encoding_of("<meta charset=utf-8>你好".encode()) == Guess("utf-8", True)


def test_a_wrong_declaration_does_not_count():
    assert encoding_of("# coding: ascii\n# é\n".encode()) == Guess("utf-8", True)
    assert encoding_of(b"# coding: utf-16\n# caf\xe9 \xe0 la\n").encoding == "latin-1"
    assert encoding_of("<meta charset=gb2312>\u9555".encode("gb18030")) == Guess("gb18030", True)


EDITS = {
    "gbk": (CHINESE, "gbk", "字典", "列表"),
    "shift-jis": (JAPANESE, "cp932", "これ", "それ"),
    "a letter that ends in a backslash": (JAPANESE, "cp932", "\\n", "/n"),
    "big5": ("# 讀取設定檔，傳回一個字典；出錯時傳回空\n許功蓋\\\n", "big5", "\\", "/"),
    "utf-16": ("\ufeffa\U0001f600b\r\n", "utf-16-be", "\U0001f600", "\u4e2d"),
    "latin-1": ("# élève été où çà\n", "latin-1", "été", "fût"),
}


@pytest.mark.parametrize(("text", "encoding", "old", "new"), EDITS.values(), ids=EDITS)
def test_law_11_an_edit_keeps_the_encoding(text, encoding, old, new):
    assert replace_text(text.encode(encoding), old, new, False) == text.replace(old, new).encode(encoding)


def test_a_letter_that_the_encoding_lacks_is_refused():
    for encoding, letter in (("gbk", "\u0e01"), ("cp932", "\u00e9"), ("latin-1", "\u20ac")):
        text = {"gbk": CHINESE, "cp932": JAPANESE, "latin-1": "# élève été où çà\nx = 1\n"}[encoding]
        with pytest.raises(ToolError, match=f"cannot be written in {encoding}"):
            replace_text(text.encode(encoding), "\n", letter, True)


def test_a_second_byte_is_no_letter():
    data = (JAPANESE + "表表表").encode("cp932")
    with pytest.raises(ToolError, match="not in the file"):
        replace_text(data, "\\\\", "x", False)
    # in an encoding that is only guessed, a backslash behind a high byte may be half of a letter
    with pytest.raises(ToolError, match="not certain"):
        replace_text(b"# \x95\x5c\n", "\\", "/", False)


def test_iso_2022_is_refused():
    with pytest.raises(ToolError, match="ISO-2022"):
        replace_text("日本語 abc".encode("iso2022_jp"), "abc", "x", False)


def test_utf8_with_few_broken_bytes_is_utf8():
    data = ("é" * 40).encode() + b"\xff x\n"
    assert (encoding_of(data), replace_text(data, "x", "ü", False)) == (Guess("utf-8", True), data.replace(b"x", "ü".encode()))


ENDS = {
    "lone cr": (b"a\rb\rc", "a\nb", "x\ny\nz", b"x\ry\rz\rc"),
    "cr among lf stays a letter": (b"a\rb\nc\n", "b", "x\ny", b"a\rx\ny\nc\n"),
    "mixed, an unchanged line": (b"a\r\nb\nc\r\n", "a\nb\nc", "a\nB\nc", b"a\r\nB\nc\r\n"),
    "mixed, new lines as the one they follow": (b"a\nb\r\nc\nd\n", "b", "b\nx", b"a\nb\r\nx\r\nc\nd\n"),
    "crlf in the arguments": (b"a\nb\n", "a\r\nb", "x\r\ny", b"x\ny\n"),
    "no final newline": (b"a\r\nb", "b", "b\nc", b"a\r\nb\r\nc"),
    "nul at the end": (b"one\ntwo\n\0\0\0", "two", "2", b"one\n2\n\0\0\0"),
    "a very long line": (b"x" * 3_000_000 + b"y\n", "y", "z", b"x" * 3_000_000 + b"z\n"),
    "bom kept": (codecs.BOM_UTF8 + b"a", "a", "b", codecs.BOM_UTF8 + b"b"),
}


@pytest.mark.parametrize(("data", "old", "new", "after"), ENDS.values(), ids=ENDS)
def test_law_11_line_ends_stay(data, old, new, after):
    assert replace_text(data, old, new, False) == after


def test_a_whole_file_keeps_its_writing():
    assert Writing("cp932", b"", "\r").whole("表\n") == b"\x95\x5c\r"
    with pytest.raises(ToolError, match="not certain"):
        writing_of("# 你好\n".encode("gbk")).whole("é\n")
    assert writing_of("# 你好\n".encode("gbk")).whole("plain\n") == b"plain\n"


SCRIPTS = {
    "gbk": st.characters(min_codepoint=0x4E00, max_codepoint=0x9FA5),
    "cp932": st.characters(min_codepoint=0x3041, max_codepoint=0x3093) | st.sampled_from("表ソ能予十\\"),
    "big5": st.sampled_from("許功蓋育\\\u4e00\u4e8c|"),
    "utf-8": st.characters(codec="utf-8", exclude_characters="\r\n\0\x1b"),
    "iso8859-15": st.sampled_from("éà€ô"),
}


@pytest.mark.parametrize("encoding", SCRIPTS)
@settings(max_examples=50)
@given(data=st.data())
def test_law_11_in_a_declared_encoding_an_edit_is_that_of_the_text(encoding, data):
    letters = st.text(SCRIPTS[encoding] | st.sampled_from("ab \n"), max_size=12)
    left, old, new, right = (data.draw(letters) for _ in range(4))
    text = f"# coding: {encoding}\n{left}{old}{right}"
    assume(old and old != new and text.count(old) == 1)
    try:
        after = replace_text(text.encode(encoding), old, new, False)
    except ToolError as fault:
        assert "overlap" in str(fault) or "not certain" in str(fault)
        return
    assert after == text.replace(old, new).encode(encoding)
