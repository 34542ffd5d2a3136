"""Server-sent events: bytes go in as they come, whole `data` fields come out. Knows nothing of what they hold."""

from __future__ import annotations

BOM = b"\xef\xbb\xbf"
FIELDS = (b":", b"data", b"event", b"id", b"retry")
"""How the lines of an event stream begin."""
FRAME_STARTS = (b"{", b"[", b"<")
"""How a JSON or web page begins; no line of an event stream does."""


class EventSplitter:
    """Cuts an event stream into the payloads of its events, in time proportional to its length."""

    def __init__(self) -> None:
        self.plain: bool | None = None
        """The body is no event stream; None until its first character has come."""
        self.foreign = b""
        """The first line that no event stream has, of a body without any payload so far."""
        self._heard = False
        self._open: list[bytes] = []  # pieces of the line that has not ended; joined once, when its end comes
        self._data: list[bytes] = []  # data lines of the event that has not ended
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The payloads that this chunk completes."""
        chunk = chunk if self.plain is not None else self._begin(chunk)
        if self.plain is not False:
            self._open.append(chunk)
            return []
        if self._after_cr and chunk:
            chunk, self._after_cr = chunk.removeprefix(b"\n"), False
        if b"\n" not in chunk and b"\r" not in chunk:
            self._open.append(chunk)
            return []
        self._after_cr = chunk.endswith(b"\r")
        lines = b"".join([*self._open, chunk]).splitlines(keepends=True)
        self._open = [] if lines[-1].endswith((b"\n", b"\r")) else [lines.pop()]
        return self._take(lines)

    def end(self) -> list[bytes]:
        """What the end of the body completes: a last event without its blank line, or a body that is no event stream."""
        rest, self._open = b"".join(self._open), []
        if self.plain is not False:
            return [rest] if rest.strip() else []
        payloads = self._take([rest]) if rest else []
        return payloads + self._flush()

    def _begin(self, chunk: bytes) -> bytes:
        """Leave out a BOM and blank lines; decide by the first character what the body is."""
        head = b"".join([*self._open, chunk])
        text = head.removeprefix(BOM).lstrip()
        if not text or BOM.startswith(head):
            return chunk
        self.plain, self._open = text.startswith(FRAME_STARTS), []
        return text

    def _take(self, lines: list[bytes]) -> list[bytes]:
        payloads: list[bytes] = []
        for line in lines:
            if line.startswith(b"data:"):
                self._heard = True
                value = line[5:].rstrip(b"\r\n")
                self._data.append(value[1:] if value.startswith(b" ") else value)
            elif self._data and not line.rstrip(b"\r\n"):
                payloads.extend(self._flush())
            elif not self._heard and not self.foreign and line.strip() and not _is_field(line.strip()):
                self.foreign = line.strip()
        return payloads

    def _flush(self) -> list[bytes]:
        data, self._data = self._data, []
        if len(data) < 2:
            return data
        # Some gateways leave out the blank line between events; a JSON text over several lines begins and ends once.
        if all(line.startswith((b"{", b"[DONE]")) and line.endswith((b"}", b"[DONE]")) for line in map(bytes.strip, data)):
            return data
        return [b"\n".join(data)]


def _is_field(line: bytes) -> bool:
    """Whether a line is of an event stream, or the beginning of one that is."""
    return line.startswith(FIELDS) or any(name.startswith(line) for name in FIELDS)
