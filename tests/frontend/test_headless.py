import asyncio
import contextlib
import json
import os
import signal

import pytest

from agentcli.errors import NothingWaiting, StaleAnswer
from agentcli.frontend.headless.output import Pipe
from agentcli.frontend.headless.stream import Headless, Request, exit_code
from agentcli.ledger import event as ev
from agentcli.ledger.block import ToolCallBlock, ToolCallState
from agentcli.ledger.message import Msg, UserMsg
from agentcli.ledger.preview import Preview
from tests.fakes.conversation import HOLD, FakeConversation, FakeStatus


class FakeStdout:
    """A pipe whose other end is read at the end."""

    def __init__(self):
        self.reader, writer = os.pipe()
        self.pipe = Pipe(writer)

    def read(self):
        os.close(self.pipe.fd)
        with os.fdopen(self.reader, "rb") as file:
            return file.read()


@pytest.fixture
async def out():
    stdout = FakeStdout()
    yield stdout
    for fd in (stdout.reader, stdout.pipe.fd):
        with contextlib.suppress(OSError):
            os.close(fd)


def call(state=ToolCallState.ASKING, call_id="c1"):
    return ToolCallBlock(id=call_id, name="Bash", input='{"command": "make"}', state=state)


def said(text, reply="r1", call_tokens=(0, 0)):
    taken, made = call_tokens
    return [
        ev.ModelCallStartEvent(reply_id=reply, model_name="m"),
        ev.TextBlockStartEvent(reply_id=reply, block_id=text),
        ev.TextBlockDeltaEvent(reply_id=reply, block_id=text, delta=text),
        ev.TextBlockEndEvent(reply_id=reply, block_id=text),
        ev.ModelCallEndEvent(reply_id=reply, input_tokens=taken, output_tokens=made),
    ]


def start(reply="r1"):
    return ev.ReplyStartEvent(reply_id=reply, session_id="s", name="agent")


def end(reason=ev.ReplyEndReason.COMPLETED, reply="r1", **more):
    return ev.ReplyEndEvent(reply_id=reply, session_id="s", finished_reason=reason, **more)


def asks(*calls, digest="d" * 64):
    preview = Preview(kind="command", target="make", body="make", digest=digest)
    return [
        ev.RequireUserConfirmEvent(reply_id="r1", tool_calls=list(calls), previews={c.id: preview for c in calls}),
        ev.ReplyPausedEvent(reply_id="r1", session_id="s", waiting=list(calls)),
    ]


def answered(confirmed, *calls, digest="d" * 64):
    results = [ev.ConfirmResult(confirmed=confirmed, tool_call=c, digest=digest) for c in calls]
    return ev.UserConfirmResultEvent(reply_id="r1", confirm_results=results)


def types(data):
    return [json.loads(line)["type"] for line in data.splitlines()]


def content(inputs):
    return [item.get_text_content() if isinstance(item, Msg) else item for item in inputs]


async def test_text_is_only_the_text_of_the_last_call_that_gave_one(out):
    fake = FakeConversation([[start(), *said("on the way"), *said("the answer"), *said("")[:1], end()]])
    assert await Headless(fake, Request(prompt="go"), out.pipe).run() == 0
    assert out.read() == b"the answer\n"
    assert content(fake.inputs) == ["go"]


async def test_json_is_one_object_with_seven_fields(out):
    fake = FakeConversation([[start(), *said("one", call_tokens=(5, 3)), *said("two", call_tokens=(7, 1)), end()]])
    assert await Headless(fake, Request(prompt="go", output="json"), out.pipe).run() == 0
    assert json.loads(out.read()) == {
        "session_id": "s" * 16,
        "reply_id": "r1",
        "finished_reason": "completed",
        "text": "two",
        "usage": {"input_tokens": 12, "output_tokens": 4, "cached_tokens": 0, "reasoning_tokens": 0},
        "waiting": [],
        "error": None,
    }


async def test_json_says_what_the_calls_have_cost_where_that_is_known(out):
    ends = [ev.ModelCallEndEvent(reply_id="r1", metadata={"cost": cost}) for cost in (0.1, 0.2)]
    fake = FakeConversation([[start(), *ends, *said("two", call_tokens=(7, 1)), end()]])
    assert await Headless(fake, Request(prompt="go", output="json"), out.pipe).run() == 0
    assert json.loads(out.read())["cost"] == 0.3


async def test_json_of_a_pause_has_no_reason_and_names_what_waits(out):
    fake = FakeConversation([[start(), *asks(call())]])
    assert await Headless(fake, Request(prompt="go", output="json"), out.pipe).run() == 10
    row = json.loads(out.read())
    assert (row["finished_reason"], [c["id"] for c in row["waiting"]]) == (None, ["c1"])


async def test_events_are_one_ascii_object_a_line(out):
    events = [start(), *said("\u00e9\u009b2J\ud800"), end()]
    assert await Headless(FakeConversation([events]), Request(prompt="go", output="events"), out.pipe).run() == 0
    data = out.read()
    assert data.isascii()
    assert types(data) == [event.type for event in events]


@pytest.mark.parametrize(
    ("terminal", "code"),
    [
        (end(), 0),
        (end(ev.ReplyEndReason.INTERRUPTED), 130),
        (end(ev.ReplyEndReason.EXCEED_MAX_ITERS), 4),
        (end(ev.ReplyEndReason.ERROR, error=ev.ErrorInfo(kind="rate_limit", message="m")), 3),
        (end(ev.ReplyEndReason.ERROR, error=ev.ErrorInfo(kind="internal", message="m")), 1),
        (asks(call())[1], 10),
        (asks(call(), call(ToolCallState.SUBMITTED, "c2"))[1], 10),
        (asks(call(ToolCallState.SUBMITTED))[1], 11),
    ],
)
def test_exit_code_says_how_the_stream_ended(terminal, code):
    assert exit_code(terminal) == code


@pytest.mark.parametrize(("how", "confirmed"), [("allow", True), ("deny", False)])
async def test_on_ask_answers_inside_the_process_and_prints_one_terminal_event(out, how, confirmed):
    given = answered(confirmed, call())
    fake = FakeConversation([[start(), *asks(call())], [given, *said("over"), end()]])
    assert await Headless(fake, Request(prompt="go", output="events", on_ask=how), out.pipe).run() == 0
    seen = types(out.read())
    assert "REPLY_PAUSED" not in seen
    assert seen.count("REPLY_END") == 1
    assert fake.inputs[1].confirm_results == given.confirm_results


async def test_on_ask_leaves_an_external_execution_waiting(out):
    waits = [call(ToolCallState.SUBMITTED)]
    fake = FakeConversation([[start(), ev.ReplyPausedEvent(reply_id="r1", session_id="s", waiting=waits)]])
    assert await Headless(fake, Request(prompt="go", output="events", on_ask="allow"), out.pipe).run() == 11
    assert types(out.read())[-1] == "REPLY_PAUSED"


async def test_resume_alone_announces_what_waits(out):
    fake = FakeConversation([asks(call())], FakeStatus(waiting=(call(),)))
    assert await Headless(fake, Request(output="events"), out.pipe).run() == 10
    assert fake.inputs == [None]


async def test_resume_alone_continues_a_reply_that_was_cut_off(out):
    fake = FakeConversation([[*said("on"), end()]], FakeStatus(unfinished=True))
    assert await Headless(fake, Request(), out.pipe).run() == 0
    assert out.read() == b"on\n"


async def test_resume_alone_with_nothing_to_do_is_refused(out):
    with pytest.raises(NothingWaiting):
        await Headless(FakeConversation([]), Request(), out.pipe).run()


async def test_prompt_while_something_waits_is_not_sent(out, capsys):
    fake = FakeConversation([asks(call())], FakeStatus(waiting=(call(),)))
    assert await Headless(fake, Request(prompt="more"), out.pipe).run() == 10
    assert fake.inputs == [None]
    assert "not sent" in capsys.readouterr().err


async def test_prompt_goes_out_after_on_ask_has_answered_what_waits(out):
    fake = FakeConversation([[*said("denied"), end()], [start("r2"), *said("next", "r2"), end()]], FakeStatus(waiting=(call(),)))
    assert await Headless(fake, Request(prompt="more", output="events", on_ask="deny"), out.pipe).run() == 0
    assert [type(item).__name__ for item in fake.inputs] == ["UserConfirmResultEvent", "Msg"]
    assert types(out.read())[0] == "MODEL_CALL_START"


async def test_answer_answers_everything_that_waits(out):
    both = (call(), call(call_id="c2"))
    fake = FakeConversation([[*said("over"), end()]], FakeStatus(waiting=both))
    assert await Headless(fake, Request(answer="allow"), out.pipe).run() == 0
    assert fake.inputs[0].confirm_results == answered(True, *both, digest=None).confirm_results


async def test_answer_with_nothing_waiting_is_refused(out):
    with pytest.raises(NothingWaiting):
        await Headless(FakeConversation([], FakeStatus(unfinished=True)), Request(answer="allow"), out.pipe).run()


async def test_notices_and_errors_go_to_stderr(out, capsys):
    error = ev.ErrorInfo(kind="auth", message="no\x1b[2Jkey\nhere")
    events = [start(), end(ev.ReplyEndReason.ERROR, error=error, metadata={"notice": "cut"})]
    fake = FakeConversation([events], FakeStatus(notices=("torn",)))
    assert await Headless(fake, Request(prompt="go"), out.pipe).run() == 3
    torn, cut, why = capsys.readouterr().err.splitlines()
    assert (torn, cut) == ("torn", "cut")
    assert "OPENAI_API_KEY" in why
    assert why.endswith("auth: nokey␊here")
    assert out.read() == b""


async def test_what_a_question_says_beside_its_preview_is_told_once(out, capsys):
    note = "This reply has taken 9 tokens;\x1b[2J its budget is 8."
    preview = Preview(kind="command", target="make", body="make", digest="d" * 64, notes=[note])
    ask = ev.RequireUserConfirmEvent(reply_id="r1", tool_calls=[call()], previews={"c1": preview, "c2": preview})
    fake = FakeConversation([[start(), ask, asks(call())[-1]]])
    assert await Headless(fake, Request(prompt="go"), out.pipe).run() == 10
    told = capsys.readouterr().err.splitlines()
    assert (told[0], told[1].partition(":")[0]) == ("This reply has taken 9 tokens; its budget is 8.", "waiting")


# -- lines of stdin ------------------------------------------------------------------------------


@pytest.fixture
def stdin(monkeypatch):
    reader, writer = os.pipe()

    class FakeStdin:
        def fileno(self):
            return reader

        def write(self, data):
            while data:
                data = data[os.write(writer, data) :]

        def send(self, *items):
            for item in items:
                self.write((item if isinstance(item, bytes) else item.model_dump_json().encode()) + b"\n")

        def end(self):
            nonlocal writer
            if writer >= 0:
                os.close(writer)
                writer = -1

    fake = FakeStdin()
    monkeypatch.setattr("sys.stdin", fake)
    yield fake
    fake.end()


LINES = Request(output="events", input_events=True)


async def test_refused_lines_are_told_and_messages_after_them_work(out, stdin, capsys):
    stdin.send(
        b"{",
        b"[]",
        b'{"type": "NO_SUCH_EVENT"}',
        b"",
        answered(True, call()),
        UserMsg(content="first"),
        UserMsg(content="second"),
    )
    stdin.end()
    fake = FakeConversation([[StaleAnswer("old")], [start(), *said("one"), end()], [start("r2"), *said("two", "r2"), end()]])
    assert await Headless(fake, LINES, out.pipe).run() == 0
    assert content(fake.inputs[1:]) == ["first", "second"]
    assert len(capsys.readouterr().err.splitlines()) == 4


async def test_a_line_may_come_in_any_pieces_and_need_not_end(out, stdin):
    text = "x" * 200_000
    line = UserMsg(content=text).model_dump_json().encode()
    fake = FakeConversation([[start(), end()], [start("r2"), end(reply="r2")]])
    run = asyncio.create_task(Headless(fake, LINES, out.pipe).run())
    await asyncio.to_thread(stdin.write, line + b"\n" + line)
    stdin.end()
    assert await run == 0
    assert content(fake.inputs) == [text, text]


async def test_a_refused_line_as_the_only_input_is_exit_code_2(out, stdin):
    stdin.send(answered(True, call()))
    stdin.end()
    fake = FakeConversation([asks(call()), [StaleAnswer("old")]], FakeStatus(waiting=(call(),)))
    assert await Headless(fake, LINES, out.pipe).run() == 2


async def test_resumed_session_announces_first_what_waits(out, stdin):
    stdin.end()
    fake = FakeConversation([asks(call())], FakeStatus(waiting=(call(),)))
    assert await Headless(fake, LINES, out.pipe).run() == 10


async def test_a_pause_waits_for_its_answer_on_stdin(out, stdin):
    given = answered(True, call())
    fake = FakeConversation([[start(), *asks(call())], [given, *said("over"), end()]])
    stdin.send(UserMsg(content="go"), given)
    stdin.end()
    assert await Headless(fake, LINES, out.pipe).run() == 0
    assert types(out.read()).count("REPLY_PAUSED") == 1


async def test_a_message_steers_the_running_reply(out, stdin):
    fake = FakeConversation([[start(), HOLD, *said("one"), end()], [start("r2"), *said("two", "r2"), end()]])
    run = asyncio.create_task(Headless(fake, LINES, out.pipe).run())
    stdin.send(UserMsg(content="go"))
    await fake.started.wait()
    stdin.send(UserMsg(content="not that"))
    await fake.steered.wait()
    stdin.end()
    assert await run == 0
    assert content(fake.inputs) == ["go", "not that"]  # the reply ended before it took the text in


async def test_a_message_that_the_reply_took_in_is_not_sent_again(out, stdin):
    fake = FakeConversation([[start(), HOLD, *said("one"), end()]], takes_in=True)
    run = asyncio.create_task(Headless(fake, LINES, out.pipe).run())
    stdin.send(UserMsg(content="go"))
    await fake.started.wait()
    stdin.send(UserMsg(content="not that"))
    stdin.end()
    assert await run == 0
    assert content(fake.inputs) == ["go"]


async def test_an_interrupt_line_ends_the_running_reply(out, stdin):
    fake = FakeConversation([[start(), HOLD]])
    run = asyncio.create_task(Headless(fake, LINES, out.pipe).run())
    stdin.send(UserMsg(content="go"))
    await fake.started.wait()
    stdin.send(ev.UserInterruptEvent(reply_id="r1"))
    stdin.end()
    assert await run == 130


async def test_an_interrupt_for_another_reply_is_refused(out, stdin, capsys):
    fake = FakeConversation([[start(), HOLD, end()]], takes_in=True)
    run = asyncio.create_task(Headless(fake, LINES, out.pipe).run())
    stdin.send(UserMsg(content="go"))
    await fake.started.wait()
    stdin.send(ev.UserInterruptEvent(reply_id="r0"), UserMsg(content="on"))
    stdin.end()
    assert await run == 0
    assert "refused" in capsys.readouterr().err


# -- signals and pipes ---------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
async def test_a_signal_interrupts_the_reply_and_gives_the_exit_code(out, number, code):
    fake = FakeConversation([[start(), HOLD]])
    run = asyncio.create_task(Headless(fake, Request(prompt="go", output="events"), out.pipe).run())
    await fake.started.wait()
    os.kill(os.getpid(), number)
    assert await run == code
    assert types(out.read())[-1] == "REPLY_END"


async def test_a_signal_while_stdin_is_awaited_ends_the_run(out, stdin):
    headless = Headless(FakeConversation([]), LINES, out.pipe)
    run = asyncio.create_task(headless.run())
    await asyncio.sleep(0.05)
    os.kill(os.getpid(), signal.SIGTERM)
    assert await run == 143


async def test_a_reader_that_has_gone_interrupts_the_reply_quietly(out, capsys):
    os.close(out.reader)
    fake = FakeConversation([[start(), HOLD]])
    assert await Headless(fake, Request(prompt="go", output="events"), out.pipe).run() == 141
    assert capsys.readouterr().err == ""


async def test_a_reader_that_does_not_read_cannot_hold_up_a_signal(out):
    big = "x" * 3_000_000
    fake = FakeConversation([[start(), *said(big), HOLD]])
    run = asyncio.create_task(Headless(fake, Request(prompt="go", output="events"), out.pipe).run())
    await asyncio.sleep(0.2)
    os.kill(os.getpid(), signal.SIGTERM)
    assert await asyncio.wait_for(run, 5) == 143


@pytest.mark.parametrize("output", ["text", "json"])
async def test_one_answer_is_given_although_what_waited_was_answered_first(out, output):
    streams = [[*said("denied"), end()], [start("r2"), *said("next", "r2"), end()]]
    fake = FakeConversation(streams, FakeStatus(waiting=(call(),)))
    assert await Headless(fake, Request(prompt="more", output=output, on_ask="deny"), out.pipe).run() == 0
    given = out.read().decode().splitlines()
    assert len(given) == 1
    assert "next" in given[0]
