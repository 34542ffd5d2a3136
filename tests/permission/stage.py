"""A repository on disk, and questions to the engine about it."""

from pathlib import Path

from agentcli.ledger.rule import PermissionBehavior, PermissionContext, PermissionMode, PermissionRule
from agentcli.permission.decision import PermissionDecision
from agentcli.permission.engine import PermissionEngine
from agentcli.permission.subject import Kind, Subject, Way
from agentcli.tool.subject import file_subject, free_subject, look_subject, shell_subject
from agentcli.workspace.root import Place

MODES = tuple(PermissionMode)
FILES = ("src/a.py", "src/x/y.py", "docs/a.md", "secrets/k", ".env", "README.md", ".git/config", ".git/hooks/x")


class Stage:
    """`project` with files and links, `outside` beside it, and a home folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project, self.outside, self.home = folder / "project", folder / "outside", folder / "home"
        for name in FILES:
            self.file(self.project / name)
        self.file(self.outside / "a.txt")
        self.file(self.home / ".ssh/id_rsa")
        self.link("src/out", self.outside)
        self.link("alias", Path("src"))
        self.place = Place(
            cwd=str(self.project), root=str(self.project), home=str(self.home), settings=(str(self.home / "settings"),)
        )

    def file(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n")
        return path

    def link(self, name: str, target: Path) -> None:
        (self.project / name).symlink_to(target)

    def context(self, **rules: str | list[str]) -> PermissionContext:
        texts = {name: [text] if isinstance(text, str) else text for name, text in rules.items()}
        return PermissionContext(
            root=self.place.root,
            home=self.place.home,
            working_directories=list(self.place.added),
            rules=[PermissionRule.parse(text, PermissionBehavior(name)) for name in texts for text in texts[name]],
        )

    def shell(self, command: str) -> Subject:
        return shell_subject("Bash", command, self.place)

    def read(self, path: str) -> Subject:
        return look_subject("Read", path, self.place, folder=False)

    def grep(self, path: str) -> Subject:
        return look_subject("Grep", path, self.place, folder=True)

    def write(self, path: str) -> Subject:
        return file_subject("Write", path, Way.WRITE, self.place)

    def edit(self, path: str) -> Subject:
        return file_subject("Edit", path, Way.EDIT, self.place)

    def function(self, name: str, read_only: bool = False) -> Subject:
        return Subject(tool=name, kind=Kind.FUNCTION, read_only=read_only)

    def free(self, name: str = "Tasks") -> Subject:
        return free_subject(name)

    def decide(
        self, subject: Subject | str, mode: PermissionMode | str = "default", **rules: str | list[str]
    ) -> PermissionDecision:
        subject = self.shell(subject) if isinstance(subject, str) else subject
        return PermissionEngine(self.context(**rules)).decide(subject, PermissionMode(mode))

    def says(self, subject: Subject | str, mode: PermissionMode | str = "default", **rules: str | list[str]) -> str:
        return self.decide(subject, mode, **rules).behavior.value

    def row(self, subject: Subject | str, **rules: str | list[str]) -> list[str]:
        return [self.says(subject, mode, **rules) for mode in MODES]
