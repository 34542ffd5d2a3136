import os

import pytest

from agentcli.errors import UsageError
from agentcli.workspace.guarded import guard_of
from agentcli.workspace.root import Located, Place, change_fault, names_below


@pytest.fixture
def base(tmp_path):
    base = tmp_path.resolve()
    for name in ("root/src", "root/.git/hooks", "out/deep", "home/.ssh", "root-evil", "config"):
        (base / name).mkdir(parents=True)
    (base / "root/src/app.py").write_text("x")
    (base / "out/secret").write_text("x")
    return base


@pytest.fixture
def place(base):
    return Place(cwd=str(base / "root"), root=str(base / "root"), home=str(base / "home"), settings=(str(base / "config"),))


def link(base, name, target):
    (base / name).symlink_to(target)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("src/app.py", "root/src/app.py"),
        ("./src//../src/./app.py", "root/src/app.py"),
        ("new/dir/file", "root/new/dir/file"),
        ("a\nb", "root/a\nb"),
        (" x ", "root/ x "),
        ("..hidden", "root/..hidden"),
        ("...", "root/..."),
        ("src/..%2f..%2fetc", "root/src/..%2f..%2fetc"),
        ("file:///etc/passwd", "root/file:/etc/passwd"),
        (".", "root"),
    ],
)
def test_inside(base, place, text, path):
    assert place.locate(text) == Located(str(base / path), inside=True, protected=False)


@pytest.mark.parametrize(
    "text", ["../x", "src/../../x", "../root-evil/x", "~/x", "/etc/passwd", "/proc/cpuinfo", "/dev/tty", "/dev/../etc/passwd"]
)
def test_outside(place, text):
    assert (place.locate(text).inside, place.locate(text).fault) == (False, None)


def test_links_are_followed_as_the_kernel_does(base, place):
    link(base, "root/sub", base / "out/deep")
    link(base, "root/dangling", base / "out/later")
    link(base, "root/hop", "hop2")
    link(base, "root/hop2", base / "out/secret")
    link(base, "root/in", "src/app.py")
    link(base, "root/proc", "/proc/self/cwd")
    found = [place.locate(text) for text in ("sub/../x", "sub/new/deep", "dangling", "hop", "in", "proc/src/app.py")]
    assert [located.path for located in found[:5]] == [
        str(base / name) for name in ("out/x", "out/deep/new/deep", "out/later", "out/secret", "root/src/app.py")
    ]
    assert [located.inside for located in found] == [False, False, False, False, True, False]


@pytest.mark.parametrize(
    "text", ["", "a\0b", "loop", "loop/x", "src/app.py/x", "src/app.py/../x", "~root/x", "x" * 300, "x/" * 3000, "\ud800"]
)
def test_what_nothing_can_open_has_a_fault(base, place, text):
    link(base, "root/loop", "loop")
    assert place.locate(text).fault


@pytest.mark.parametrize(
    "text",
    [
        ".git/config",
        ".git",
        "sub/.git/config",
        ".GIT/config",
        ".git./config",
        ".g\u200cit/config",
        "src/../.git/hooks/x",
        ".agentcli/config.toml",
        ".env",
        "sub/.env.local",
        "~/.ssh/x",
        "~/.aws/credentials",
        "id_rsa",
        ".npmrc",
        "../config/config.toml",
        "../config",
    ],
)
def test_protected_places_are_not_even_looked_at(place, text):
    located = place.locate(text)
    assert (located.protected, located.guarded, bool(located.why)) == (True, True, True)


@pytest.mark.parametrize(
    "text",
    [
        "AGENTS.md",
        "conftest.py",
        "src/conftest.py",
        ".envrc",
        ".mcp.json",
        ".vscode/tasks.json",
        ".idea/x",
        ".github/workflows/ci.yml",
        ".husky/pre-commit",
        "~/.bashrc",
        ".gitmodules",
    ],
)
def test_guarded_places_may_be_read(place, text):
    located = place.locate(text)
    assert (located.protected, located.guarded) == (False, True)


@pytest.mark.parametrize(
    "text", [".env.example", "src/app.py", ".github/README.md", "git/config", ".gitignore", "env", "workflows/x"]
)
def test_like_names_are_free(text):
    assert guard_of(f"/r/{text}") is None


def test_a_guarded_name_stays_guarded_behind_and_before_a_link(base, place):
    link(base, "root/hooks-link", ".git/hooks")
    link(base, "root/.env", "src/app.py")
    assert [place.locate(text).protected for text in ("hooks-link/x", ".env")] == [True, True]


def test_a_link_that_is_removed_is_itself(base, place):
    link(base, "root/l", base / "out/secret")
    assert place.locate_name("l") == Located(str(base / "root/l"), inside=True, protected=False)


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("/proc/self/cwd/src/app.py", "root/src/app.py"),
        ("/proc/self/cwd", "root/."),
        ("/proc/thread-self/cwd/a", "root/a"),
        ("/proc/thread-self/../../cwd/a", "root/a"),
        ("/proc/1/cwd/../a", "root/../a"),
        ("/proc/self/task/1/cwd/a", "root/a"),
        ("/sys/../proc/self/cwd/a", "root/a"),
        ("proc/a", "root/a"),
        ("/proc/self/root/etc/passwd", "/etc/passwd"),
        ("/proc/self/fd/3", None),
        ("/proc/self/exe", None),
        ("/proc/self/map_files/1-2", None),
        ("/dev/fd/3", None),
        ("/dev/stdin", None),
    ],
)
def test_a_name_of_a_process_is_a_fault_that_says_what_it_would_mean(base, place, text, means):
    link(base, "root/proc", "/proc/self/cwd")
    located = place.locate(text)
    assert (bool(located.fault), located.inside) == (True, False)
    assert located.means == (means if means is None or means.startswith("/") else f"{base}/{means}")


def test_dots_behind_a_device_folder_lead_out_of_it(base, place):
    assert [place.locate(f"{folder}/..{base}/root/src/app.py") for folder in ("/dev", "/sys", "/proc")] == [
        Located(f"{base}/root/src/app.py", inside=True, protected=False)
    ] * 3


def test_the_environment_of_a_process_is_protected(place):
    assert [place.locate(text).protected for text in ("/proc/self/environ", "/proc/1/task/1/environ", "/proc/self/mem")] == [
        True
    ] * 3


def test_the_names_below_a_folder_follow_no_link(base):
    link(base, "root/src/leads", base / "out")
    assert sorted(names_below(str(base / "root"), 10) or []) == [".git", ".git/hooks", "src", "src/app.py", "src/leads"]
    assert (names_below(str(base / "root"), 4), names_below(str(base / "nowhere"), 4)) == (None, None)


def test_a_git_file_and_its_settings_name_protected_folders(base):
    work = base / "work"
    work.mkdir()
    (work / ".git").write_text(f"gitdir: {base}/store/one\n")
    (base / "store/one").mkdir(parents=True)
    (base / "store/one/commondir").write_text("..\n")
    (base / "store/config").write_text('[core]\n\thooksPath = "my-hooks"\n')
    place = Place.find(str(work))
    paths = ("../store/one/HEAD", "../store/config", "my-hooks/pre-push", "src")
    assert [place.locate(path).protected for path in paths] == [True, True, True, False]


def test_the_root_is_the_nearest_folder_with_git(base, monkeypatch):
    monkeypatch.setenv("HOME", str(base / "home"))
    found = Place.find(str(base / "root/src"), [str(base / "out")], [str(base / "config")])
    assert found == Place(
        cwd=str(base / "root/src"),
        root=str(base / "root"),
        home=str(base / "home"),
        added=(str(base / "out"),),
        settings=(str(base / "config"),),
        git=(str(base / "root/.git"),),
    )
    assert Place.find(str(base / "out/deep")).root == str(base / "out/deep")


def test_a_missing_folder_is_said(base):
    with pytest.raises(UsageError, match="no such folder"):
        Place.find(str(base / "nowhere"))
    with pytest.raises(UsageError, match="no such folder"):
        Place.find(str(base), ["nowhere"])


def test_added_folders_are_inside(base):
    place = Place.find(str(base / "root"), [str(base / "out")])
    assert [place.locate(path).inside for path in ("../out/secret", "../root-evil/x")] == [True, False]


def test_a_file_with_two_names_is_not_changed_in_place(base):
    os.link(base / "out/secret", base / "root/x")
    os.mkfifo(base / "root/pipe")
    faults = [change_fault(str(base / name)) for name in ("root/x", "root/pipe", "root/src/app.py", "root/src", "root/none")]
    assert faults == ["it has more than one name (a hard link)", "it is no plain file", None, None, None]


def test_what_goes_with_a_folder(base, place):
    paths = [base / "root", base, base / "home", base / "root/src", base / "out"]
    assert [place.holds(str(path)) for path in paths] == [
        "it holds the project",
        "it holds the project",
        "it holds the home folder",
        None,
        None,
    ]


def test_what_a_walk_comes_upon(base, place):
    (base / "root/src/.env").write_text("x")
    link(base, "root/src/leads", base / "out")
    src = str(base / "root/src")
    assert place.secret_below(src, dotted=True, follows=False) == ".env lies below"
    assert place.secret_below(src, dotted=False, follows=False) is None
    assert place.secret_below(src, dotted=False, follows=True) == "leads leads out of the project"
