from agentcli.frontend.tui.transcript.blocks import ErrorBlock, NoticeBlock, TextPart, ThinkingBlock, UserBlock
from agentcli.frontend.tui.transcript.feed import Feed
from agentcli.frontend.tui.transcript.retry import RetryBlock
from agentcli.frontend.tui.transcript.tool_call import ToolBlock
from agentcli.ledger import event as ev
from agentcli.ledger.block import ToolResultState
from tests.fakes.screen_conversation import REPLY, asks, begun, call, end, question, result, start, text, thinking, user
from tests.frontend.tui.looks import sight, words


class FakePage:
    def __init__(self):
        self.blocks, self.changes, self.frames = [], 0, 0

    def add(self, block):
        self.blocks.append(block)

    def change(self, block):
        self.changes += 1

    def withdraw(self, block):
        self.blocks.remove(block)

    def ask_frame(self, *, now=False):
        self.frames += 1


def fed(*events):
    page = FakePage()
    feed = Feed(page)
    for event in events:
        feed.take(event)
    feed.flush()
    return page, feed


def test_blocks_come_in_the_order_of_the_stream():
    events = [start(), *thinking("hm"), *text("Looking."), *call("Read", "{}"), *result("Read", "x"), *text("Done.", "t2"), end()]
    assert [type(block) for block in fed(*events)[0].blocks] == [ThinkingBlock, TextPart, ToolBlock, TextPart]


def test_deltas_are_joined_between_frames():
    page, _feed = fed(start(), *text("word " * 500, size=5, open_=True))
    assert (len(page.blocks), page.changes) == (1, 0)
    assert page.frames > 0
    assert page.blocks[0].chunk.source == "word " * 500


def test_only_the_open_part_changes():
    page, feed = fed(start(), *text("one\n\ntwo\n\nthree\nfo", open_=True))
    feed.take(ev.TextBlockDeltaEvent(reply_id=REPLY, block_id="t1", delta="ur"))
    feed.flush()
    assert [block.chunk.source.strip() for block in page.blocks] == ["one", "two", "three\nfour"]
    assert page.changes == 1


def test_a_withdrawn_thought_goes():
    retry = ev.ModelCallRetryEvent(
        reply_id=REPLY,
        attempt=2,
        delay_s=2,
        error=ev.ErrorInfo(kind="rate_limit", message="slow"),
        model_name="m",
        withdrawn=["th1"],
    )
    page, _ = fed(start(), *thinking("first"), retry)
    assert [type(block) for block in page.blocks] == [RetryBlock]
    assert shown(page) == ["· The provider is asked too often; again in 2 s (attempt 2). Esc stops."]


def model_call(name="m"):
    return ev.ModelCallStartEvent(reply_id=REPLY, model_name=name)


def retry(attempt, delay_s, name="m", kind="rate_limit", **error):
    info = ev.ErrorInfo(kind=kind, **{"message": "slow", **error})
    return ev.ModelCallRetryEvent(reply_id=REPLY, attempt=attempt, delay_s=delay_s, error=info, model_name=name)


def shown(page):
    return [line for block in page.blocks for line in words(block.rows(sight(100)))]


def test_the_attempts_of_one_model_are_one_row():
    page, _ = fed(start(), model_call(), retry(2, 0.4), retry(3, 8, status=429))
    assert shown(page) == ["· The provider is asked too often (429); again in 8 s (attempt 3). Esc stops."]


def test_a_wait_that_is_over_says_so_and_counts_no_more():
    page, feed = fed(start(), model_call(), retry(2, 0.4), *text("Here."))
    assert shown(page)[0] == "· The provider is asked too often; tried again (attempt 2)."
    assert feed.counting is None


def test_a_wait_that_the_user_stops_says_so():
    page, _ = fed(start(), model_call(), retry(2, 30), end(ev.ReplyEndReason.INTERRUPTED))
    assert shown(page) == ["· The provider is asked too often; stopped before attempt 2.", "· Interrupted."]


def test_another_model_that_goes_on_is_named_on_a_row_of_its_own():
    page, _ = fed(start(), model_call("gpt"), retry(2, 0.4, "gpt", "server"), retry(3, 0, "glm[/b]\x1b[2J", "server"), *text("x"))
    assert shown(page)[:2] == [
        "· The provider has a fault of its own; tried again (attempt 2).",
        "· The provider has a fault of its own; glm[/b] goes on (attempt 3).",
    ]


def test_an_opened_row_has_the_words_of_the_provider():
    page, _ = fed(start(), model_call(), retry(2, 5, message="Rate limit reached for \x1b[31mgpt"))
    assert words(page.blocks[0].rows(sight(100, details=True)))[1] == "  Rate limit reached for gpt"


def test_it_counts_down_to_the_second():
    row = RetryBlock(ev.ErrorInfo(kind="rate_limit", message=""), 2, until=107.5)
    assert [(row.count(now), row.left) for now in (100.0, 100.4, 100.6, 107.6, 108.0)] == [
        (True, 8),
        (False, 8),
        (True, 7),
        (True, 0),
        (False, 0),
    ]


def test_a_call_waits_runs_and_ends():
    page, feed = fed(
        start(),
        *call("Bash", '{"command": "ls"}'),
        *asks(question("Bash", "{}", {"kind": "command", "target": "ls", "body": "ls"})),
    )
    tool = page.blocks[0]
    assert (tool.waiting, tool.runs) == ("asked", False)
    feed.take(begun("Bash"))
    assert (tool.waiting, tool.runs, feed.running()) == ("", True, [tool])
    for event in result("Bash", "out")[1:]:
        feed.take(event)
    assert (tool.state, tool.text, feed.running()) == (ToolResultState.SUCCESS, "out", [])


def test_edited_arguments_are_shown():
    page, feed = fed(start(), *call("Bash", '{"command": "ls"}'))
    block, _ = question("Bash", '{"command": "ls -la"}', {"kind": "command", "target": "ls", "body": "ls"})
    feed.take(ev.UserConfirmResultEvent(reply_id=REPLY, confirm_results=[ev.ConfirmResult(confirmed=True, tool_call=block)]))
    assert page.blocks[0].arguments == ['{"command": "ls -la"}']


def test_an_end_says_why():
    page, _ = fed(
        start(), end(ev.ReplyEndReason.ERROR, error=ev.ErrorInfo(kind="auth", message="no"), metadata={"notice": "cut"})
    )
    assert [type(block) for block in page.blocks] == [ErrorBlock, NoticeBlock]


def test_the_limit_of_model_calls_says_how_many_there_were_and_how_to_go_on():
    model_call = ev.ModelCallStartEvent(reply_id=REPLY, model_name="m")
    limit = ev.ExceedMaxItersEvent(reply_id=REPLY, name="agent")
    over = end(ev.ReplyEndReason.EXCEED_MAX_ITERS)
    page, _ = fed(start(), model_call, model_call, limit, over, start(), over)
    assert [block.text for block in page.blocks] == [
        "Stopped after 2 model calls. Enter on the empty prompt goes on.",
        "Stopped at the limit of model calls. Enter on the empty prompt goes on.",
    ]


def test_an_answered_call_runs_and_one_that_runs_elsewhere_waits():
    block, preview = question("Bash", "{}", {"kind": "command", "target": "ls", "body": "ls"})
    page, feed = fed(start(), *call("Bash", "{}"), *asks((block, preview)))
    feed.take(ev.UserConfirmResultEvent(reply_id=REPLY, confirm_results=[ev.ConfirmResult(confirmed=True, tool_call=block)]))
    assert (page.blocks[0].state, page.blocks[0].runs) == (ToolResultState.RUNNING, True)
    feed.take(begun("Bash"))
    feed.take(ev.RequireExternalExecutionEvent(reply_id=REPLY, tool_calls=[block]))
    assert (page.blocks[0].waiting, page.blocks[0].runs) == ("elsewhere", False)


def test_steering_and_messages_are_the_users():
    page, feed = fed()
    feed.say(user("hello"))
    feed.take(ev.HintBlockEvent(reply_id=REPLY, block_id="h", source="user", hint="only north"))
    assert [(type(block), block.text) for block in page.blocks] == [(UserBlock, "hello"), (UserBlock, "only north")]


def test_unknown_and_foreign_events_show_nothing():
    page, _ = fed(
        ev.UnknownEvent(type="LATER"),
        ev.TextBlockDeltaEvent(reply_id="x", block_id="none", delta="x"),
        ev.ToolResultEndEvent(reply_id="x", tool_call_id="none", state="success"),
    )
    assert page.blocks == []
