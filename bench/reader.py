"""Reads one session in a process of its own and prints what that took: `reader.py json LOG`, or `reader.py open LOG`."""

import json
import resource
import sys
import time
from pathlib import Path


def by_line(log: Path) -> int:
    """What the standard library does with the same file; the records are kept, as a session is."""
    with log.open("rb") as file:
        return len([json.loads(line) for line in file])


def opened(log: Path) -> int:
    from agentcli.session.store import SessionStore

    lock, loaded = SessionStore(log.parent.parent).open(log.stem)
    lock.close()
    return len(loaded.messages)


def main() -> None:
    read = {"json": by_line, "open": opened}[sys.argv[1]]
    if read is opened:
        import agentcli.session.store  # noqa: F401  # loading the program is the phase `startup`
    wall, cpu = time.perf_counter(), time.process_time()
    count = read(Path(sys.argv[2]))
    took = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "count": count}
    print(json.dumps({**took, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


if __name__ == "__main__":
    main()
