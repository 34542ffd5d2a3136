"""A spool that keeps its text in memory, and may refuse."""

import errno
import hashlib
import os

from agentcli.workspace.whole import Stored


class FakeSpool:
    """Remembers what came; raises ENOSPC at the named step."""

    def __init__(self, breaks_at="", missing=0):
        self.text, self.writes, self.breaks_at, self.missing = "", 0, breaks_at, missing
        self.finished = self.dropped = False

    async def keep(self):
        self._step("keep")
        return self

    def write(self, text):
        self._step("write")
        self.writes += 1
        self.text += text

    def finish(self):
        self._step("finish")
        self.finished = True
        data = self.text.encode()
        return Stored("/kept/it", hashlib.sha256(data).hexdigest(), len(data), self.missing)

    def drop(self):
        self.dropped = True

    def _step(self, name):
        if name == self.breaks_at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
