"""
What ten stages cost when nothing is to be done, over a long way, beside those who do the like.

A real sshd on loopback behind a proxy with 50 and 150 ms of round trip. Each of us has ten small
folders on the box, all as asked, and a connection that is open already where it keeps one: zuka
with ten uploads; one batched probe, which asks the same ten questions by a bare ssh over a master;
Ansible (pipelining, ControlPersist) with ten copies; pyinfra with ten syncs. Minimum of five,
interleaved; prints ratios: python benchmarks/ssh.py [--quick]

The peers are installed into an environment of their own; --quick leaves them out.
"""

from __future__ import annotations

import getpass
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.boxes import SshdBox  # noqa: E402 - a script, not a package
from tests.wan import wan  # noqa: E402
from zuka import shell  # noqa: E402
from zuka.connection import Connection  # noqa: E402
from zuka.machines import Machine  # noqa: E402
from zuka.onbox import tree_state  # noqa: E402
from zuka.trees import Reader  # noqa: E402

STAGES = 10
ROUNDS = 5
PEERS = ("ansible-core", "pyinfra")
GOALS = {"probe": (1.5, "at most"), "pyinfra": (10.0, "at least"), "ansible": (25.0, "at least")}


class Bench:
    """One project, one box, one distance."""

    def __init__(self, folder: Path, box: SshdBox, port: int, peers: int) -> None:
        self.folder, self.box, self.port, self.peers = folder, box, port, peers
        self.key = box.root / "client_key"
        self.env = {**os.environ, "PYTHONPATH": str(ROOT), "ANSIBLE_NOCOLOR": "1"}
        self.env.pop("PYTHONDONTWRITEBYTECODE", None)
        for number in range(STAGES):
            (folder / f"d{number}").mkdir(parents=True)
            (folder / f"d{number}" / "x").write_text(f"{number}\n")
        self._zuka()
        self._ansible()
        self._pyinfra()
        machine = Machine("probe", "127.0.0.1", port, getpass.getuser(), self.key)
        self._connection = Connection(machine, folder / "probe")
        reader = Reader(folder, folder / "cache.json")
        places = [f"data/{reader.tree(f'd{n}').digest[:16]}" for n in range(STAGES)]
        self._questions = [[tree_state(place)] for place in places]

    def _zuka(self) -> None:
        uploads = "".join(
            f"  - upload: {{name: u{n}, source: d{n}, target: t{n}}}\n" for n in range(STAGES)
        )
        way = f"address: 127.0.0.1, port: {self.port}, user: {getpass.getuser()}, key: {self.key}"
        (self.folder / "recipes").mkdir()
        text = f"zuka: 1\nmachine: {{{way}}}\nstages:\n{uploads}"
        (self.folder / "recipes" / "train.yaml").write_text(text)

    def _ansible(self) -> None:
        options = "-o ControlMaster=auto -o ControlPersist=120 -o StrictHostKeyChecking=accept-new"
        known = self.folder / "ansible_known_hosts"
        (self.folder / "ansible.cfg").write_text(
            f"[defaults]\nremote_tmp = {self.box.home}/ansible-tmp\n"
            "gathering = explicit\nretry_files_enabled = False\n"
            f"[ssh_connection]\npipelining = True\nssh_args = {options} "
            f"-o UserKnownHostsFile={known}\ncontrol_path_dir = {self.box.sockets}\n"
        )
        facts = (
            f"ansible_host=127.0.0.1 ansible_port={self.peers} ansible_user={getpass.getuser()}"
            f" ansible_ssh_private_key_file={self.key} ansible_python_interpreter={sys.executable}"
        )
        (self.folder / "hosts").write_text(f"box {facts}\n")
        tasks = "".join(
            f"    - copy: {{src: d{n}/, dest: {self.box.home}/ansible/d{n}/}}\n"
            for n in range(STAGES)
        )
        (self.folder / "play.yaml").write_text(f"- hosts: all\n  tasks:\n{tasks}")

    def _pyinfra(self) -> None:
        tasks = "".join(
            f'files.sync(src="d{n}", dest="{self.box.home}/pyinfra/d{n}")\n' for n in range(STAGES)
        )
        (self.folder / "deploy.py").write_text(f"from pyinfra.operations import files\n{tasks}")
        facts = {
            "ssh_port": self.peers,
            "ssh_user": getpass.getuser(),
            "ssh_key": str(self.key),
            "ssh_strict_host_key_checking": "off",
            "ssh_known_hosts_file": str(self.folder / "pyinfra_known_hosts"),
        }
        (self.folder / "inventory.py").write_text(f"box = [('127.0.0.1', {facts!r})]\n")

    def run(self, *argv: str) -> None:
        """Run a command to its end; what it prints is shown when it fails."""
        done = subprocess.run(
            argv, cwd=self.folder, env=self.env, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{argv}\n{done.stdout}\n{done.stderr}")

    def zuka(self) -> None:
        """Run the recipe."""
        self.run(sys.executable, "-m", "zuka", "run", "train")

    def probe(self) -> None:
        """Ask the ten questions by ssh itself, in one command over its master."""
        script = shell.ask(self._questions, shell.new_mark())
        with self._connection.client(shell.as_argument(script), stdin=subprocess.DEVNULL) as client:
            out = client.stdout.read()
        if out.count(b"whole") != STAGES:
            raise SystemExit(f"the probe saw {out!r}")

    def close(self) -> None:
        """End our connections."""
        self._connection.close()


def measured(acts: dict[str, Callable[[], None]], rounds: int) -> dict[str, float]:
    """Return the least seconds of each act, interleaved; each is done once before."""
    for act in acts.values():
        act()
    least = dict.fromkeys(acts, float("inf"))
    for _ in range(rounds):
        for name, act in acts.items():
            began = time.perf_counter()
            act()
            least[name] = min(least[name], time.perf_counter() - began)
    return least


def main() -> None:
    """Measure at each distance and print the ratios."""
    quick = "--quick" in sys.argv
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        programs = work / "peers" / "bin"
        if not quick:
            subprocess.run([sys.executable, "-m", "venv", str(programs.parent)], check=True)
            install = [str(programs / "python"), "-m", "pip", "install", "-q", *PEERS]
            subprocess.run(install, check=True, stderr=subprocess.DEVNULL)
        found = {}
        for rtt in (0.05, 0.15):
            found[rtt] = compare(work / f"{rtt}", rtt, None if quick else programs)
        near, far = found.values()
        print(f"zuka waits for {(far['zuka'] - near['zuka']) / 0.1:.1f} round trips")


def compare(work: Path, rtt: float, programs: Path | None) -> dict[str, float]:
    """Return the seconds of each at one distance."""
    box = SshdBox(work / "box")
    # The peers copy by sftp, and keep to no home folder: they get a server that lets them.
    plain = SshdBox(work / "plain", settings="ForceCommand none\nSubsystem sftp internal-sftp")
    (plain.root / "authorized_keys").write_text((box.root / "client_key.pub").read_text())
    box.start()
    plain.start()
    try:
        with wan(("127.0.0.1", box.port), rtt) as way, wan(("127.0.0.1", plain.port), rtt) as other:
            bench = Bench(work / "project", box, way.port, other.port)
            acts = {"zuka": bench.zuka, "probe": bench.probe}
            if programs:
                ansible = (str(programs / "ansible-playbook"), "-i", "hosts", "play.yaml")
                pyinfra = (str(programs / "pyinfra"), "-y", "inventory.py", "deploy.py")
                acts |= {"ansible": partial(bench.run, *ansible)}
                acts |= {"pyinfra": partial(bench.run, *pyinfra)}
            least = measured(acts, ROUNDS)
            shown(rtt, least)
            bench.close()
            return least
    finally:
        box.close()
        plain.close()


def shown(rtt: float, least: dict[str, float]) -> None:
    """Print a line for each, and how they compare."""
    for name, seconds in least.items():
        print(f"{1000 * rtt:4.0f} ms  {name:<8} {seconds:7.3f} s")
    for name, (goal, word) in GOALS.items():
        if name in least:
            pair = (least["zuka"], least[name]) if name == "probe" else (least[name], least["zuka"])
            names = "zuka / probe" if name == "probe" else f"{name} / zuka"
            print(f"{1000 * rtt:4.0f} ms  {names:<15} {pair[0] / pair[1]:6.2f}  ({word} {goal:g})")


if __name__ == "__main__":
    main()
