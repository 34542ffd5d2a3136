import pytest

from agentcli.errors import SessionHeld, UsageError
from agentcli.ledger.message import UserMsg
from agentcli.runtime.catalogue import session_rows
from agentcli.runtime.command import SetTitle
from agentcli.runtime.title import Entitled, entitle

OVER = [{"text": "over"}]


async def said(conversation, text="first words\nand more"):
    async for _ in conversation.stream(UserMsg(content=text)):
        pass
    return conversation.status.session_id


async def test_a_title_is_listed_and_stays_with_the_session(home):
    conversation = await home.open(OVER)
    session = await said(conversation)
    assert (conversation.status.title, session_rows()[0].title) == ("", "first words and more")
    assert await conversation.do(SetTitle(" The  shop\n")) == "Title: The shop"
    assert (conversation.status.title, session_rows()[0].title) == ("The shop", "The shop")
    await conversation.close()
    again = await home.open(OVER, resume=session)
    assert again.status.title == "The shop"
    await again.close()


async def test_a_title_given_before_the_first_message_is_the_session_s(home):
    conversation = await home.open(OVER)
    await conversation.do(SetTitle("The shop"))
    await said(conversation)
    await conversation.close()
    assert session_rows()[0].title == "The shop"


async def test_a_long_title_is_shortened(home):
    conversation = await home.open(OVER)
    await conversation.do(SetTitle("x" * 90))
    assert conversation.status.title == "x" * 59 + "…"
    await conversation.close()


@pytest.mark.parametrize("text", ["", " \n\t"])
async def test_a_title_without_a_letter_is_refused(home, text):
    conversation = await home.open(OVER)
    session = await said(conversation)
    with pytest.raises(UsageError, match="a title cannot be empty"):
        await conversation.do(SetTitle(text))
    await conversation.close()
    with pytest.raises(UsageError, match="a title cannot be empty"):
        await entitle(session, text)
    assert session_rows()[0].title == "first words and more"


async def test_a_title_needs_no_conversation(home):
    session, _ = await home.play(OVER)
    assert await entitle(session[:9], "The shop") == Entitled(session, "The shop", [])
    assert session_rows()[0].title == "The shop"


async def test_a_session_in_use_keeps_its_title_and_names_who_has_it(home):
    conversation = await home.open(OVER)
    session = await said(conversation)
    with pytest.raises(SessionHeld):
        await entitle(session, "The shop")
    await conversation.close()
    assert session_rows()[0].title == "first words and more"


async def test_a_torn_end_is_told(home):
    session, _ = await home.play(OVER)
    home.log(session).write_bytes(home.log(session).read_bytes() + b'{"torn')
    given = await entitle(session, "The shop")
    assert (len(given.lost), session_rows()[0].title) == (1, "The shop")
