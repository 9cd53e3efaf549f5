"""A federation on this machine: a SuperLink and several SuperNodes on loopback, with TLS and known keys.

For `covey flower demo`, tests and measurements. Every process is a real one of Flower's; all that were started are
ended, whatever happens in between.
"""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from covey.errors import BadData
from covey.flower.warm import write_programs

QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",  # the app's packages are those of this environment
    "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.1",
}
PATIENCE = 60.0  # seconds for a process to come up
GRACE = 5.0  # seconds between asking a process to end and ending it
NAME = "here"  # of the connection


class Federation:
    """`with Federation(folder, nodes) as federation:`; `nodes` are the configurations of the SuperNodes.

    `secure` is TLS and SuperNode authentication; without it all is in the clear. `warm`: apps start at once, see
    `covey.flower.warm`. `keep`: the SuperLink keeps its nodes and runs in a database, so that it can be started again.
    """

    def __init__(
        self,
        folder: Path,
        nodes: Sequence[Mapping[str, Any]],
        *,
        secure: bool = True,
        warm: bool = False,
        keep: bool = False,
    ) -> None:
        self.folder, self.configs = Path(folder).resolve(), [dict(config) for config in nodes]
        self.secure, self.warm, self.keep = secure, warm, keep
        self.nodes: list[subprocess.Popen[bytes]] = []
        self.port = free_port()
        self.link: subprocess.Popen[bytes] | None = None
        self._started: list[subprocess.Popen[bytes]] = []
        home = self.folder / "flwr"
        self.environment = {**os.environ, **QUIET, "FLWR_HOME": str(home), "OMP_NUM_THREADS": "1"}
        programs = str(Path(sys.executable).parent)
        self.environment["PATH"] = programs + os.pathsep + os.environ.get("PATH", "")

    def __enter__(self) -> Federation:
        try:
            self._write()
            if self.warm:
                self._warm_up()
            self.start_link()
            for number, config in enumerate(self.configs):
                self.add_node(config, number)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start_link(self) -> None:
        """Start the SuperLink, or start it again."""
        words = ["--host", "127.0.0.1", "--port", str(self.port)]
        words += ["--database", str(self.folder / "link.db")] if self.keep else []
        tls = [f"--ssl-{kind}={self.folder / name}" for kind, name in _CERTIFICATES.items()]
        words += [*tls, "--enable-supernode-auth"] if self.secure else ["--insecure"]
        self.link = self.start("flower-superlink", *words, log="superlink")
        self._await_port(self.port, self.link)

    def add_node(self, config: Mapping[str, Any], number: int | None = None) -> subprocess.Popen[bytes]:
        """Start one more SuperNode, or one of that number again."""
        number = len(self.nodes) if number is None else number
        words = ["--superlink", f"127.0.0.1:{self.port}", "--host", "127.0.0.1", "--port", str(free_port())]
        words += ["--node-config", " ".join(f"{key}={_toml(value)}" for key, value in config.items())]
        if self.secure:
            key = self.folder / f"node-{number}"
            if not key.exists():
                make_key(key)
                self.call("supernode", "register", f"{key}.pub", NAME, "--name", f"node-{number}")
            words += ["--root-certificates", str(self.folder / "ca.pem"), "--auth-supernode-private-key", str(key)]
        else:
            words += ["--insecure"]
        node = self.start("flower-supernode", *words, log=f"supernode-{number}")
        self.nodes[number : number + 1] = [node]
        return node

    def run(self, app: Path, config: Mapping[str, Any]) -> subprocess.Popen[bytes]:
        """Start a run of an app; the process ends with the run, and its log is `run.log`."""
        given = " ".join(f"{key}={_toml(value)}" for key, value in config.items())
        return self.start("flwr", "run", str(app), NAME, "--stream", "--run-config", given, log="run")

    def call(self, *words: str) -> str:
        """A command of `flwr`, and what it says."""
        command = [self._program("flwr"), *words]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode:
            raise BadData(f"flwr {' '.join(words)} failed: {(done.stderr or done.stdout).strip()[-500:]}")
        return done.stdout

    def start(self, program: str, *words: str, log: str) -> subprocess.Popen[bytes]:
        """Start a program in a group of its own, so that it can be ended with all it starts."""
        with (self.folder / f"{log}.log").open("ab") as out:
            process = subprocess.Popen(
                [self._program(program), *words],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=self.environment,
                start_new_session=True,
            )
        self._started.append(process)
        return process

    def log(self, name: str) -> str:
        """What a process has said so far."""
        path = self.folder / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def stop(self) -> None:
        """End everything that was started: first by asking, then for good; nothing interrupts it half-way."""
        with _uninterrupted():
            for process in reversed(self._started):
                _signal(process, signal.SIGCONT)
                _signal(process, signal.SIGTERM)
            end = time.monotonic() + GRACE
            for process in self._started:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(max(0.0, end - time.monotonic()))
            for process in self._started:
                _signal(process, signal.SIGKILL)
                process.wait()
            self._started.clear()

    def _program(self, name: str) -> str:
        path = Path(sys.executable).parent / name  # which a full path is left by
        if not path.exists():
            raise BadData(f"{name} is not installed beside {sys.executable}: pip install 'covey[flower]'")
        return str(path)

    def _warm_up(self) -> None:
        """Start the server that forks apps; connections to it wait until it has imported what they need."""
        door = self.folder / "warm"
        write_programs(self.folder / "programs", door)
        self.environment["PATH"] = f"{self.folder / 'programs'}{os.pathsep}{self.environment['PATH']}"
        server = self.start(sys.executable, "-m", "covey.flower.warm", str(door), log="warm")
        end = time.monotonic() + PATIENCE
        while not door.exists():
            if time.monotonic() > end or server.poll() is not None:
                raise BadData(f"the server of warm apps did not come up: {self.log('warm').strip()[-500:]}")
            time.sleep(0.1)

    def _await_port(self, port: int, process: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
                return
            time.sleep(0.1)
        raise BadData(f"the SuperLink did not come up: {self.log('superlink').strip()[-500:]}")

    def _write(self) -> None:
        home = self.folder / "flwr"
        home.mkdir(parents=True, exist_ok=True)
        trust = f"root-certificates = {_toml(str(self.folder / 'ca.pem'))}" if self.secure else "insecure = true"
        connection = (
            f'[superlink]\ndefault = "{NAME}"\n\n[superlink.{NAME}]\naddress = "127.0.0.1:{self.port}"\n{trust}\n'
        )
        (home / "config.toml").write_text(connection)
        if self.secure:
            make_certificates(self.folder)


_CERTIFICATES = {"ca-certfile": "ca.pem", "certfile": "server.pem", "keyfile": "server.key"}


def make_certificates(folder: Path) -> None:
    """A certificate authority of one's own, and a certificate for 127.0.0.1 from it, good for a week."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    def name(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    now = datetime.datetime.now(datetime.UTC)

    def certificate(
        subject: str, key: ec.EllipticCurvePrivateKey, extensions: list[tuple[x509.ExtensionType, bool]]
    ) -> x509.Certificate:
        builder = x509.CertificateBuilder(name("covey demo"), name(subject), key.public_key())
        builder = builder.serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(now - datetime.timedelta(hours=1))
        builder = builder.not_valid_after(now + datetime.timedelta(days=7))
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical)
        return builder.sign(authority, hashes.SHA256())

    authority, own = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    issuer = x509.SubjectKeyIdentifier.from_public_key(authority.public_key())
    ca = certificate("covey demo", authority, [(x509.BasicConstraints(ca=True, path_length=0), True), (issuer, False)])
    hosts = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    by = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer)
    server = certificate("localhost", own, [(x509.SubjectAlternativeName(hosts), False), (by, False)])
    pem = serialization.Encoding.PEM
    secret = own.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "ca.pem").write_bytes(ca.public_bytes(pem))
    (folder / "server.pem").write_bytes(server.public_bytes(pem))
    _write_secret(folder / "server.key", secret)


def make_key(path: Path) -> None:
    """A SuperNode's key pair, as `ssh-keygen -t ecdsa -b 384` makes it."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP384R1())
    ssh = serialization.PrivateFormat.OpenSSH
    _write_secret(path, key.private_bytes(serialization.Encoding.PEM, ssh, serialization.NoEncryption()))
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    Path(f"{path}.pub").write_bytes(public + b"\n")


def _write_secret(path: Path, data: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:  # noqa: PTH123
        file.write(data)


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _toml(value: object) -> str:
    """A value as TOML, which for texts, numbers, true and false is as JSON."""
    return json.dumps(value)


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """To the process and all of its group; one that is gone is let be."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """What asks this process to end is heard after the block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """A request to end (SIGTERM, SIGHUP) is as Ctrl-C while the block lasts, so that what was started is stopped."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
