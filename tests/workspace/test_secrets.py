import secrets as chance
import string

import pytest

from agentcli.workspace.secrets import FORMS, Mask, dotenv_values, is_dotenv, secret_values

# Made when the test runs: a text that looks like a key does not stand in this file.
LETTERS = "".join(chance.choice(string.ascii_letters + string.digits) for _ in range(80))
UPPER = "".join(chance.choice(string.ascii_uppercase + string.digits) for _ in range(16))
KEYS = {
    "model provider": "sk-proj-" + LETTERS[:40],
    "other model providers": "gsk_" + LETTERS[:48],
    "github": "ghp_" + LETTERS[:36],
    "gitlab": "glpat-" + LETTERS[:20],
    "slack": "xoxb-" + LETTERS[:20],
    "aws": "AKIA" + UPPER,
    "google": "AIza" + LETTERS[:35],
    "stripe": "sk_live_" + LETTERS[:24],
    "registries": "npm_" + LETTERS[:36],
    "sendgrid": f"SG.{LETTERS[:20]}.{LETTERS[20:60]}",
    "jwt": f"eyJ{LETTERS[:20]}.eyJ{LETTERS[:30]}.{LETTERS[:30]}",
    "address": "someone:" + LETTERS[:12],
}


def masked(text, *values, pieces=1, **more):
    mask = Mask(values, **more)
    size = max(1, len(text) // pieces)
    out = "".join(mask.feed(text[at : at + size]) for at in range(0, len(text), size)) + mask.feed("", final=True)
    return out, mask.count


@pytest.mark.parametrize("name", FORMS)
def test_a_key_of_a_known_form_is_masked_and_what_stands_around_it_stays(name):
    before = "https://" if name == "address" else "key="
    after = "@host/x" if name == "address" else '"; next'
    assert masked(f"a {before}{KEYS[name]}{after} b\n") == (f"a {before}[masked]{after} b\n", 1)


@pytest.mark.parametrize("name", FORMS)
def test_no_cut_between_two_pieces_lets_a_key_through(name):
    text = f"https://{KEYS[name]}@host end\n" if name == "address" else f"is {KEYS[name]} end\n"
    for pieces in range(1, len(text) + 1):
        out, count = masked(text, pieces=pieces)
        assert (KEYS[name] in out, count) == (False, 1), pieces


def test_a_private_key_is_masked_as_a_whole_across_lines_and_pieces():
    kind = "PRIVATE KEY"
    text = f"x\n-----BEGIN RSA {kind}-----\nAAAA\nBBBB\n-----END RSA {kind}-----\ny\n"
    assert [masked(text, pieces=pieces) for pieces in (1, 3, len(text))] == [("x\n[masked]\ny\n", 1)] * 3


def test_a_private_key_without_an_end_hides_all_that_follows():
    assert masked("-----BEGIN PRIVATE KEY-----\nAAAA\n") == ("[masked]", 1)


def test_values_are_masked_by_their_very_text_the_longest_first():
    assert masked("hunter2-long and hunter2-long-er", "hunter2-long", "hunter2-long-er", pieces=9) == ("[masked] and [masked]", 2)


@pytest.mark.parametrize(
    "text",
    [
        "sk-" + "x" * 40,
        "the task-management-of-a-rather-long-name-here is fine",
        "a sk-learn model, AKIA, eyJ, ghp_, https://host:8080/path, user@host, git@github.com:a/b.git",
        "Z2l0IGlzIG5vdCBhIHNlY3JldCBhdCBhbGwgYnV0IGxvbmcgZW5vdWdo" * 20,
        "no\nblank\tlost  \r\n",
        "",
    ],
)
def test_ordinary_text_comes_out_as_it_went_in(text):
    assert [masked(text, pieces=pieces) for pieces in (1, 7, max(1, len(text)))] == [(text, 0)] * 3


def test_a_word_without_end_is_not_held_for_ever():
    mask = Mask()
    out = sum(len(mask.feed("x" * 1000)) for _ in range(100))
    assert out > 95_000


def test_of_a_dotenv_file_all_values_are_masked_behind_line_numbers_too():
    text = "# note\nexport A=1\n  2\tB = 'two words'\nC=\n\nD: x # y\n"
    assert [masked(text, pieces=pieces, settings=True) for pieces in (1, len(text))] == [
        ("# note\nexport A=[masked]\n  2\tB = [masked]\nC=\n\nD: [masked]\n", 3)
    ] * 2


@pytest.mark.parametrize(
    ("path", "is_one"),
    [("/r/.env", True), ("/r/.env.local", True), ("/r/.env.example", False), ("/r/env", False), ("/r/.envrc", False)],
)
def test_what_is_a_dotenv_file(path, is_one):
    assert is_dotenv(path) is is_one


def test_values_of_a_dotenv_file_and_of_secret_variables_are_known_the_ordinary_ones_are_not(tmp_path):
    (tmp_path / ".env").write_text("A=production\nB=\"correct horse\"\nPORT=80801234\nC=short\nD='battery-staple'\n")
    assert dotenv_values(tmp_path / ".env") == {"correct horse", "battery-staple"}
    assert dotenv_values(tmp_path / "none") == set()
    env = {
        "MY_TOKEN": "long-enough",
        "PATH": "/usr/bin:/bin",
        "GIT_AUTHOR_NAME": "somebody else",
        "DB_PASSWORD": "true",
        "X_KEY": "abc",
    }
    assert secret_values(env) == {"long-enough"}
