import pytest

from agentcli.errors import ConfigError
from agentcli.model.address import base_address, on_loopback, shown_address


@pytest.mark.parametrize("end", ["", "/", "//", "/chat/completions", "/chat/completions/", "/models"])
def test_slashes_and_the_name_of_an_endpoint_are_no_part_of_an_address(end):
    assert base_address(f"https://host/v1{end}")[0] == "https://host/v1"


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("https://host/v1/responses", ("https://host/v1", "responses")),
        ("https://host/V1/Chat/Completions//", ("https://host/V1", "chat")),
        ("https://host", ("https://host", None)),
        (" host/v1 ", ("https://host/v1", None)),
        ("localhost:11434/v1", ("http://localhost:11434/v1", None)),
        ("localhost", ("http://localhost", None)),
        ("127.0.0.1:1", ("http://127.0.0.1:1", None)),
        ("http://[::1]:8000/v1/", ("http://[::1]:8000/v1", None)),
        ("https://me:word@host/v1", ("https://me:word@host/v1", None)),
    ],
)
def test_a_full_endpoint_names_its_api_and_a_bare_host_gets_a_scheme(given, read):
    assert base_address(given) == read


@pytest.mark.parametrize(
    "given", ["", "/v1", "host", "ftp://host", "https://host:99999", "https://h o", "https://host/v1?a=1", "http://[x"]
)
def test_what_is_no_address_is_said(given):
    with pytest.raises(ConfigError, match="address"):
        base_address(given)


def test_a_sentence_about_an_address_holds_no_secret_of_it():
    assert shown_address("https://me:word@host/v1?key=word") == "https://host/v1"
    with pytest.raises(ConfigError) as caught:
        base_address("https://me:word@host/v1?key=word")
    assert "word" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("http://localhost/v1", True),
        ("http://127.9.9.9:1", True),
        ("http://[::1]:1", True),
        ("http://x.localhost", True),
        ("http://127.0.0.1.evil.com", False),
        ("http://localhost@evil.com", False),
        ("https://host", False),
    ],
)
def test_loopback_is_this_machine_and_nothing_that_looks_like_it(address, here):
    assert on_loopback(address) is here
