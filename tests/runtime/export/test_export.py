import base64
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from agentcli.ledger.block import (
    Base64Source,
    DataBlock,
    HintBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    URLSource,
)
from agentcli.ledger.event import ErrorInfo
from agentcli.ledger.message import Msg, UserMsg
from agentcli.runtime.catalogue import Story
from agentcli.runtime.export.markdown import quote, tame
from agentcli.runtime.export.write import exported
from agentcli.session.index import SessionRow

AT = "2026-01-02T03:04:05+00:00"
HOSTILE = "</pre></details><script>alert(1)</script><img src=http://evil/x onerror=y>\"'\x1b[2J\x07\u202e\u200b]]>-->"
PICTURE = base64.b64encode(b"\x89PNG").decode()
ROW = SessionRow(
    id="a" * 16,
    title=f"T {HOSTILE}",
    cwd=f"/w/{HOSTILE}",
    created_at=AT,
    updated_at=AT,
    messages=2,
    mode="default",
    model="m",
    waiting=0,
)
DIFF = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-old <b>\n+new <i>\n"


def story(*blocks, **fields):
    reply = Msg(name="agent", role="assistant", content=list(blocks), created_at=AT, **fields)
    return Story([UserMsg(content=f"please {HOSTILE}\nsecond line", created_at=AT), reply], [f"line 3 is lost {HOSTILE}"], ROW)


def edit(**more):
    call = ToolCallBlock(id="c1", name="Edit", input='{"file_path": "x", "old_string": "old"}', state="finished")
    return call, ToolResultBlock(id="c1", name="Edit", output="changed", state="success", metadata={"diff": DIFF}, **more)


EVERYTHING = story(
    ThinkingBlock(thinking=f"hm {HOSTILE}"),
    TextBlock(text=f"## I say\n\n{HOSTILE}\n\n[a](http://evil) ![p](http://evil/p.png) &#x202e; `<b>`\n\n```sh\n<x>\n"),
    HintBlock(hint=f"aside {HOSTILE}"),
    *edit(),
    ToolCallBlock(id="c2", name=f"Odd{HOSTILE}", input=f'{{"broken {HOSTILE}', state="asking"),
    ToolResultBlock(id="c3", name="Lost", output=f"out {HOSTILE}", state="error"),
    DataBlock(name=f"p {HOSTILE}", source=Base64Source(data=PICTURE, media_type="image/png")),
    DataBlock(source=Base64Source(data=PICTURE, media_type="image/svg+xml")),
    DataBlock(source=URLSource(url="http://evil/y.png", media_type="image/png")),
    error=ErrorInfo(kind="server", message=HOSTILE),
    finished_reason="error",
)


VOID = ("meta", "img", "br", "hr")


class FakeBrowser(HTMLParser):
    """Notes every element, what would be fetched, and the text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.fetched, self.handlers, self.open, self.text = set(), [], [], [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.fetched += [value for name, value in attrs if name in ("src", "href", "srcset", "action", "data")]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert tag in VOID or self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_page_runs_nothing_and_fetches_nothing():
    page = "".join(exported(EVERYTHING, "html"))
    seen = FakeBrowser(page)
    assert (seen.fetched, seen.handlers, seen.open) == ([f"data:image/png;base64,{PICTURE}"], [], [])
    assert not seen.tags & {"script", "link", "iframe", "object", "embed", "a", "base", "form"}
    assert "url(" not in page and "@import" not in page


@pytest.mark.parametrize("form", ["md", "html"])
def test_control_characters_are_made_visible(form):
    text = "".join(exported(EVERYTHING, form))
    assert not {"\x1b", "\x07", "\u202e", "\u200b"} & set(text)
    assert "␛" in text and "U+202E" in text
    text.encode()


def test_the_page_shows_everything_as_it_was_said():
    text = FakeBrowser("".join(exported(EVERYTHING, "html"))).text
    shown = HOSTILE.replace("\x1b", "␛").replace("\x07", "␇").replace("\u202e", "<U+202E>").replace("\u200b", "<U+200B>")
    for words in ("T", "please", "hm", "aside", "out", "line 3 is lost", "broken", "/w/"):
        assert f"{words} {shown}" in text or f"{words}{shown}" in text
    assert "http://evil/p.png" in text and "&#x202e;" in text
    assert "waits for an answer" in text and "its call is lost" in text and "error: server" in text


def test_a_diff_is_coloured_line_by_line_outside_of_the_fold():
    page = "".join(exported(story(*edit()), "html"))
    diff = page[page.index('<pre class="diff">') :].partition("</pre>")[0]
    assert page.index("</details>") < page.index('<pre class="diff">')
    assert diff == (
        '<pre class="diff"><span class="file">--- a/x</span><span class="file">+++ b/x</span>'
        '<span class="hunk">@@ -1,2 +1,2 @@</span><span class="same"> same</span>'
        '<span class="del">-old &lt;b&gt;</span><span class="add">+new &lt;i&gt;</span>'
    )


def test_markdown_has_roles_folds_and_fences():
    text = "".join(exported(story(TextBlock(text="I **did** it"), *edit()), "md"))
    tail = text[text.index("## User") :]
    assert tail.startswith("## User · 2026-01-02 03:04 UTC\n\n> please ")
    assert tail.endswith(
        "\n## Agent · 2026-01-02 03:04 UTC\n\nI **did** it\n\n"
        "<details><summary>Edit x (success: 1 line)</summary>\n\n".replace(": 1 line", "")
        + "`file_path`: `x`\n\n`old_string`: `old`\n\n```diff\n" + DIFF + "```\n\nResult:\n\n```\nchanged\n```\n\n</details>\n"
        "\n*not ended*\n"
    )  # fmt: skip


def test_no_foreign_html_stays_html_in_markdown():
    rendered = MarkdownIt("commonmark").render("".join(exported(EVERYTHING, "md")))
    seen = FakeBrowser(rendered)
    assert not seen.tags & {"script", "img", "iframe"}
    assert (seen.handlers, seen.open) == ([], [])
    assert rendered.count("<details>") == rendered.count("</details>") == 4


@pytest.mark.parametrize(
    ("text", "tamed"),
    [
        ("a < b && c", "a < b && c"),
        ("<b>x</b>", "&lt;b>x&lt;/b>"),
        ("`<b>` <b>", "`<b>` &lt;b>"),
        ("``a ` <b>`` <i>", "``a ` <b>`` &lt;i>"),
        ("```html\n<b>\n```\n<b>", "```html\n<b>\n```\n&lt;b>"),
        ("```\n<b>", "```\n<b>\n```"),
        ("~~~\n```\n<b>", "~~~\n```\n<b>\n~~~"),
        ("``` a`b\n<b>", "``` a`b\n&lt;b>"),
        ("![x](y)", "\\![x](y)"),
        ("&lt; &#27;", "&amp;lt; &amp;#27;"),
    ],
)
def test_markdown_of_the_model_is_tamed(text, tamed):
    assert tame(text) == tamed


@pytest.mark.parametrize(
    "text",
    [
        "# no heading",
        "> no quote",
        "- a\n- b",
        "1. x",
        "```\nx",
        "a_b_c *d*",
        "[x]: http://y",
        "<b>",
        "~~x~~",
        "a\n===",
        "    x  y",
        "&amp;",
        "-",
    ],
)
def test_a_quote_shows_its_text_and_is_nothing_else(text):
    seen = FakeBrowser(MarkdownIt("commonmark").enable("strikethrough").render(quote(text)))
    assert seen.tags <= {"blockquote", "p", "br"}
    assert seen.text.replace("\u00a0", " ").strip("\n") == text


def test_very_deep_nesting_is_shown_as_it_is():
    page = "".join(exported(story(TextBlock(text="> " * 300 + "deep")), "html"))
    assert "&gt; &gt; deep" in page


def test_a_long_session_is_exported_in_proportion():
    story_of_many = Story([UserMsg(content=f"message {number}", created_at=AT) for number in range(2000)], [], ROW)
    assert "message 1999" in "".join(exported(story_of_many, "html"))
