"""Where the sandbox lies and what is in it: its disk, its programs, its keys."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

_SHIMS = Path(__file__).resolve().parent / "shims"
MARK = "ZUKA_SANDBOX"
"""The variable that every process of a box carries, with the box's folder."""


def home_of(project: Path) -> Home:
    """Return the folder of a project's box, outside the project."""
    given = os.environ.get(MARK)
    if given:
        return Home(Path(given).resolve())
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    project = project.resolve()
    short = hashlib.sha256(str(project).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return Home(state / "zuka" / "sandbox" / f"{project.name}-{short}")


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of one box."""

    root: Path

    @property
    def disk(self) -> Path:
        """Return the box's own home folder: what stays when it is off."""
        return self.root / "home"

    @property
    def shims(self) -> Path:
        """Return the folder of stand-ins that comes first on the box's PATH."""
        return self.root / "bin"

    @property
    def programs(self) -> Path:
        """Return the link to the folder that a recipe puts before everything."""
        return self.root / "programs"

    @property
    def state(self) -> Path:
        """Return the file that says whether the box is on."""
        return self.root / "state.json"

    @property
    def host_key(self) -> Path:
        """Return the server's own private key."""
        return self.root / "host_key"

    @property
    def console_key(self) -> Path:
        """Return the key that the console of a provider would have installed."""
        return self.root / "console_key"

    @property
    def login_keys(self) -> Path:
        """Return the public half of the console's key, as the server reads it."""
        return self.root / "authorized_keys"

    @property
    def known_hosts(self) -> Path:
        """Return the known hosts of `zuka sandbox ssh`."""
        return self.root / "known_hosts"

    @property
    def log(self) -> Path:
        """Return the server's log."""
        return self.root / "server.log"

    @property
    def lock(self) -> Path:
        """Return the file that is locked while the box starts or ends."""
        return self.root / "lock"

    @property
    def sockets(self) -> Path:
        """Return a private folder with a short name: a socket's path has about 100 bytes."""
        short = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:10]
        return Path(tempfile.gettempdir()) / f"zuka-box-{os.getuid()}-{short}"

    def make(self) -> None:
        """Make the folder; nobody else may look into it."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)

    def furnish(self) -> None:
        """Make what a box has when it is switched on."""
        for folder in (self.disk, self.sockets, self.root / "tmp"):
            folder.mkdir(mode=0o700, exist_ok=True)
        if self.shims.exists():
            shutil.rmtree(self.shims)
        shutil.copytree(_SHIMS, self.shims)
        for shim in self.shims.iterdir():
            shim.chmod(0o755)
        if not self.console_key.exists():
            subprocess.run(
                [
                    "ssh-keygen",
                    "-q",
                    "-t",
                    "ed25519",
                    "-N",
                    "",
                    "-C",
                    "zuka-sandbox",
                    "-f",
                    str(self.console_key),
                ],
                check=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        shutil.copyfile(f"{self.console_key}.pub", self.login_keys)

    def set_programs(self, folder: Path | None) -> None:
        """Let the folder of a recipe, or none, come first on the box's PATH from now on."""
        if folder is None:
            self.programs.unlink(missing_ok=True)
            return
        new = self.programs.with_name(f".programs.{os.getpid()}")
        new.unlink(missing_ok=True)
        new.symlink_to(folder.resolve())
        new.replace(self.programs)


def kill_all(root: Path, *, spare: int = 0) -> int:
    """Kill every process that carries the box's mark; return how many died."""
    import psutil

    killed = 0
    while True:
        found = [p for p in psutil.process_iter() if p.pid not in (os.getpid(), spare)]
        mine = [process for process in found if _carries(process, str(root))]
        if not mine:
            return killed
        for process in mine:
            try:
                process.kill()
                killed += 1
            except psutil.Error:
                continue
        psutil.wait_procs(mine, timeout=2)


def _carries(process: object, root: str) -> bool:
    import psutil

    try:
        assert isinstance(process, psutil.Process)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return bool(process.environ().get(f"{MARK}_BOX") == root)
    except (psutil.Error, OSError):
        return False
