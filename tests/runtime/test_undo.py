import hashlib
import os

import pytest

from agentcli.errors import AgentcliError
from agentcli.ledger.block import HintBlock
from agentcli.ledger.message import UserMsg
from agentcli.ledger.rule import PermissionMode
from agentcli.runtime.command import Redo, SetMode, Undo

END = [{"text": "done"}]


def write(call_id, path, content):
    return [{"tool_call": {"id": call_id, "name": "Write", "input": {"file_path": path, "content": content}}}]


def edit(call_id, path, old, new):
    arguments = {"file_path": path, "old_string": old, "new_string": new}
    return [{"tool_call": {"id": call_id, "name": "Edit", "input": arguments}}]


async def changed(home, *turns, **options):
    """A conversation in which these turns were played without a question."""
    conversation = await home.open(*turns, END, END, mode=PermissionMode.ACCEPT_EDITS, **options)
    await play(conversation)
    return conversation


async def play(conversation, text="go"):
    return [event async for event in conversation.stream(UserMsg(content=text))]


def text_of(home, name="a.txt"):
    path = home.project / name
    return path.read_bytes() if path.exists() else None


async def test_a_new_file_is_gone_and_back(home):
    conversation = await changed(home, write("w1", "a.txt", "1\n"))
    path = home.project / "a.txt"
    assert (await conversation.do(Undo()), text_of(home)) == (f"Undone: Write of {path}.", None)
    assert (await conversation.do(Redo()), text_of(home)) == (f"Made again: Write of {path}.", b"1\n")


async def test_edits_are_undone_one_by_one_from_the_last(home):
    conversation = await changed(home, write("w1", "a.txt", "1\n"), edit("e1", "a.txt", "1", "2"), edit("e2", "a.txt", "2", "3"))
    seen = [text_of(home)]
    for command in (Undo(), Undo(), Redo(), Undo(), Undo()):
        await conversation.do(command)
        seen.append(text_of(home))
    assert seen == [b"3\n", b"2\n", b"1\n", b"2\n", b"1\n", None]
    with pytest.raises(AgentcliError, match="nothing to undo"):
        await conversation.do(Undo())


async def test_content_that_comes_back_does_not_turn_undo_in_a_circle(home):
    (home.project / "a.txt").write_bytes(b"A\n")
    read = [{"tool_call": {"id": "r1", "name": "Read", "input": {"file_path": "a.txt"}}}]
    conversation = await changed(home, read, edit("e1", "a.txt", "A", "B"), edit("e2", "a.txt", "B", "A"))
    await conversation.do(Undo())
    await conversation.do(Undo())
    assert text_of(home) == b"A\n"
    with pytest.raises(AgentcliError, match="nothing to undo"):
        await conversation.do(Undo())


async def test_bytes_that_changed_since_are_never_touched(home):
    conversation = await changed(home, write("w1", "a.txt", "1\n"))
    (home.project / "a.txt").write_bytes(b"mine\n")
    with pytest.raises(AgentcliError, match=r"a.txt has been changed since call w1 \(Write\)"):
        await conversation.do(Undo())
    assert text_of(home) == b"mine\n"


async def test_a_file_that_is_a_link_by_now_is_not_followed(home, tmp_path):
    conversation = await changed(home, write("w1", "a.txt", "1\n"))
    outside = tmp_path / "outside"
    outside.write_bytes(b"1\n")
    (home.project / "a.txt").unlink()
    (home.project / "a.txt").symlink_to(outside)
    with pytest.raises(AgentcliError, match="Nothing was changed"):
        await conversation.do(Undo())
    assert outside.read_bytes() == b"1\n"


async def test_mode_and_other_bytes_of_a_file_stay(home):
    path = home.project / "a.txt"
    path.write_bytes(b"\xef\xbb\xbf1\r\n")
    path.chmod(0o750)
    read = [{"tool_call": {"id": "r1", "name": "Read", "input": {"file_path": "a.txt"}}}]
    conversation = await changed(home, read, edit("e1", "a.txt", "1", "2"))
    await conversation.do(Undo())
    assert (text_of(home), path.stat().st_mode & 0o777) == (b"\xef\xbb\xbf1\r\n", 0o750)


async def test_one_call_among_several_is_undone_by_its_id(home):
    conversation = await changed(home, write("w1", "a.txt", "1\n"), write("w2", "b.txt", "2\n"))
    await conversation.do(Undo("w1"))
    assert (text_of(home), text_of(home, "b.txt")) == (None, b"2\n")
    with pytest.raises(AgentcliError, match="no change of call x9"):
        await conversation.do(Undo("x9"))


async def test_a_change_that_failed_is_not_undone(home):
    conversation = await changed(home, write("w1", "a.txt", "1\n"), write("w2", "a.txt", "1\n"))
    await conversation.do(Undo())
    assert text_of(home) is None


async def test_a_new_change_ends_what_can_be_made_again(home):
    conversation = await home.open(
        write("w1", "a.txt", "1\n"), END, write("w2", "b.txt", "2\n"), END, mode=PermissionMode.ACCEPT_EDITS
    )
    await play(conversation)
    await conversation.do(Undo())
    await play(conversation)
    with pytest.raises(AgentcliError, match="nothing to make again"):
        await conversation.do(Redo())


async def test_undo_and_redo_outlive_the_process(home):
    conversation = await changed(home, write("w1", "a.txt", "1\n"), edit("e1", "a.txt", "1", "2"))
    session = conversation.status.session_id
    await conversation.do(Undo())
    await conversation.close()
    again = await home.open(END, resume=session, mode=PermissionMode.ACCEPT_EDITS)
    await again.do(Redo())
    assert text_of(home) == b"2\n"
    await again.do(Undo())
    await again.do(Undo())
    assert text_of(home) is None


async def test_a_death_between_the_record_and_the_file_is_told_by_the_file(home):
    conversation = await changed(home, write("w1", "a.txt", "1\n"))
    session = conversation.status.session_id
    keeper = conversation._keeper  # pyright: ignore[reportPrivateUsage]
    await keeper.record("undo", {"call_id": "w1", "files": {}}, durable=True)
    await conversation.close()
    again = await home.open(END, resume=session, mode=PermissionMode.ACCEPT_EDITS)
    await again.do(Redo())
    await again.do(Undo())
    assert text_of(home) is None


async def test_the_model_is_told_with_the_next_call(home):
    conversation = await changed(home, write("w1", "a.txt", "1\n"))
    await conversation.do(Undo())
    await play(conversation, "and now?")
    reply = conversation._agent.state.context[-1]  # pyright: ignore[reportPrivateUsage]
    hint = reply.content[0]
    assert isinstance(hint, HintBlock)
    assert (hint.source, "undone the change of call w1 (Write)" in str(hint.hint)) == ("agentcli", True)


async def test_explore_and_a_running_reply_refuse(home):
    conversation = await changed(home, write("w1", "a.txt", "1\n"))
    await conversation.do(SetMode(PermissionMode.EXPLORE))
    with pytest.raises(AgentcliError, match="EXPLORE changes nothing"):
        await conversation.do(Undo())
    assert text_of(home) == b"1\n"


async def test_the_kept_bytes_are_content_addressed(home):
    (home.project / "a.txt").write_bytes(b"A\n")
    read = [{"tool_call": {"id": "r1", "name": "Read", "input": {"file_path": "a.txt"}}}]
    conversation = await changed(home, read, edit("e1", "a.txt", "A", "B"))
    blobs = home.log(conversation.status.session_id).with_suffix(".blobs")
    assert os.listdir(blobs) == [hashlib.sha256(b"A\n").hexdigest()]


async def test_content_that_is_not_kept_any_more_is_said_and_the_file_stays(home):
    conversation = await changed(home, write("w1", "a.txt", "1\n"), edit("e1", "a.txt", "1", "2"))
    for blob in home.log(conversation.status.session_id).with_suffix(".blobs").iterdir():
        blob.write_bytes(b"torn")
    with pytest.raises(AgentcliError, match="not kept any more"):
        await conversation.do(Undo())
    assert text_of(home) == b"2\n"
    with pytest.raises(AgentcliError, match="not kept any more"):
        await conversation.do(Undo())
