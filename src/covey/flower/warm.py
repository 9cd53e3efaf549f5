"""Apps that start at once: a process that has torch and covey imported forks one for every message.

A SuperNode starts the program `flwr-clientapp` for every message, which imports torch each time: seconds. With `warm`,
the federation's processes find another program of that name first: it hands its arguments to a server that forks, and
ends as the fork does. Nothing of Flower is changed, but it is no option of Flower's either: it is on when asked for.
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import select
import signal
import socket
import sys
from pathlib import Path

PROGRAMS = {"flwr-clientapp": "flwr.supernode.cli", "flwr-serverapp": "flwr.superlink.cli"}
STREAMS = (0, 1, 2)

SHIM = """\
#!{python} -IS
import json, os, socket, sys
door = socket.socket(socket.AF_UNIX)
door.connect({door!r})
words = [os.path.basename(sys.argv[0]), *sys.argv[1:]]
said = json.dumps([words, os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(door, [len(said).to_bytes(8, "little")], [0, 1, 2])
door.sendall(said)
sys.exit(int(door.recv(8) or b"1"))
"""


def write_programs(folder: Path, door: Path) -> None:
    """Programs that hand over to the server behind `door`; their folder goes before others in PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        program = folder / name
        program.write_text(SHIM.format(python=sys.executable, door=str(door)))
        program.chmod(0o700)


def serve(door: Path) -> None:
    """Fork a program for whoever knocks, until this process is ended."""
    import covey.flower.client
    import covey.flower.server  # noqa: F401  # what is imported here, no fork has to import

    entries = {name: _entry(name) for name in PROGRAMS}
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(door))
        door.chmod(0o600)
        listening.listen()
        while True:
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            connection, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                os._exit(_guard(connection, entries))
            connection.close()


def _entry(name: str):  # type: ignore[no-untyped-def]  # Flower's own main function
    from importlib import import_module

    return getattr(import_module(PROGRAMS[name]), name.replace("-", "_"))


def _guard(connection: socket.socket, entries: dict[str, object]) -> int:
    """Fork the program itself, and stay with it: it ends when whoever asked for it is gone."""
    head, streams, _, _ = socket.recv_fds(connection, 8, len(STREAMS))
    size, said = int.from_bytes(head, "little"), b""
    while len(said) < size:
        said += connection.recv(size - len(said))
    words, folder, environment = json.loads(said)
    program = os.fork()
    if program == 0:
        connection.close()
        for stream, given in zip(STREAMS, array.array("i", streams), strict=True):
            os.dup2(given, stream)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = words
        code = 1
        try:
            entries[words[0]]()  # type: ignore[operator]
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    while True:
        ended, status = os.waitpid(program, os.WNOHANG)
        if ended:
            with contextlib.suppress(OSError):
                connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())
            return 0
        ready, _, _ = select.select([connection], [], [], 0.05)
        if ready:  # it says nothing more, so it is gone
            os.kill(program, signal.SIGKILL)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
