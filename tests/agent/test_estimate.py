from agentcli.agent.estimate import OF_IMAGE, tokens_of_block
from agentcli.ledger.block import Base64Source, DataBlock, URLSource


def data(media_type, size):
    return DataBlock(source=Base64Source(data="A" * size, media_type=media_type))


def test_documents_and_sounds_are_counted_by_their_size_and_images_as_one_size():
    web = DataBlock(source=URLSource.model_validate({"url": "https://x.org/a.pdf", "media_type": "application/pdf"}))
    blocks = [data("application/pdf", 100_000), data("audio/wav", 400_000), data("image/png", 400_000), web]
    assert [tokens_of_block(block) for block in blocks] == [2000.0, 100.0, OF_IMAGE, OF_IMAGE]
