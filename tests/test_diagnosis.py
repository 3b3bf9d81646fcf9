"""What students paste is recognised, in its own words and in others'; any text is an answer."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from zuka import sshconfig
from zuka.diagnosis import decoded, diagnose, explain, hint, runs_nothing
from zuka.errors import HostError
from zuka.finding import LANGUAGES
from zuka.machines import Machine

ROOT = Path(__file__).parent.parent
ERRORS = ROOT / "tests" / "diagnosis" / "4-ssh-errors"
CONFIGS = ROOT / "tests" / "diagnosis" / "6-ssh-config"

SAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "4-bastion-closes-T": ("bastion-needs-terminal", {}),
    "4-conda-init-first": ("conda-not-ready", {}),
    "4-conda-not-found-ssh": ("conda-not-ready", {}),
    "4-config-bad-option": (
        "config-wrong",
        {
            "file": "/etc/ssh/ssh_config",
            "line": 26,
            "what": "Bad configuration option: permitrootlogin",
        },
    ),
    "4-config-bad-permissions": ("config-permissions", {"file": "/home/student/.ssh/config"}),
    "4-exch-id-old": ("closed-at-greeting", {}),
    "4-fish-config-noise": ("shell-not-clean", {}),
    "4-forward-jumpserver": ("forwarding-forbidden", {}),
    "4-host-star-user-wins": (
        "config-star-wins",
        {"wins": "alice", "host": "mygpu", "meant": "root"},
    ),
    "4-hostkey-changed-name": (
        "host-key-changed",
        {
            "file": "/home/student/.ssh/known_hosts",
            "line": 322,
            "type": "ECDSA",
            "name": "gpu.example.net",
            "offered_shown": f" SHA256:{'0' * 43}",
        },
    ),
    "4-hostkey-changed-otherfile": (
        "host-key-changed",
        {
            "file": "/home/student/.ssh/google_compute_known_hosts",
            "line": 63,
            "name": "tpu.0000000000",
        },
    ),
    "4-hostkey-recycled-address": ("address-recycled", {"address": "10.0.0.5:17445"}),
    "4-hostkey-unknown-batch": ("host-key-unknown", {"type": "ED25519"}),
    "4-key-0555-symlink": ("key-on-windows-disk", {"mode": "0555"}),
    "4-locale-warning-german": ("locale-noise", {}),
    "4-no-shutdown-cmd": ("no-shutdown", {}),
    "4-no-systemd-poweroff": ("no-systemd", {}),
    "4-perm-gssapi": ("not-let-in", {"methods": "publickey,gssapi-keyex,gssapi-with-mic"}),
    "4-rsync-windows-mixed-ssh": ("rsync-mixed", {}),
    # The note says "[?ud"; the number's bytes are 5b 73 75 64: sudo's own prompt.
    "4-shell-not-clean-tt": ("shell-not-clean", {"remote": 1685418843}),
    "4-sudo-missing-root": ("sudo-missing", {}),
    "4-sudo-tty-new": ("sudo-password", {}),
    "4-tmux-kitty-term": ("terminal-unknown", {"term": "xterm-kitty"}),
    "4-tmux-missing": ("tmux-missing", {}),
    "4-tmux-not-a-terminal": ("terminal-missing", {}),
    "4-too-many-auth": ("too-many-keys", {}),
}


def test_every_case_is_in_the_table() -> None:
    """A case without its verdict would say nothing."""
    assert {path.stem for path in ERRORS.glob("*.stderr")} == SAYS.keys()


@pytest.mark.parametrize("name", SAYS)
def test_a_real_error(name: str) -> None:
    """Verdict and facts are right, also with Windows' line ends and a prompt around."""
    verdict, facts = SAYS[name]
    text = (ERRORS / f"{name}.stderr").read_text()
    for shown in (text, text.replace("\n", "\r\n"), f"$ ssh mygpu\n{text}\n$ \n"):
        got = diagnose(shown)
        assert verdict == got.verdict
        assert facts.items() <= got.facts.items()


OTHERS = [
    ("ssh: connect to host 203.0.113.7 port 22022: Connection refused", "refused"),
    ("ssh: connect to host a.example port 22: Connection timed out", "timed-out"),
    ("ssh: connect to host a.example port 22: Operation timed out", "timed-out"),
    ("Connection timed out during banner exchange", "timed-out"),
    ("ssh: connect to host 10.0.0.5 port 22: No route to host", "no-way"),
    ("ssh: connect to host a port 22: Network is unreachable", "no-way"),
    ("ssh: connect to host a port 22: Host is down", "no-way"),
    ("ssh: Could not resolve hostname mygpu: Name or service not known", "name-unknown"),
    ("ssh: Could not resolve hostname a: nodename nor servname provided", "name-unknown"),
    ("ssh: Could not resolve hostname a: Temporary failure in name resolution", "name-unknown"),
    (
        "ssh: Could not resolve hostname a: \u4e0d\u77e5\u9053\u8fd9\u6837\u7684\u4e3b\u673a\u3002",
        "name-unknown",
    ),
    ("root@a.example: Permission denied (publickey).", "not-let-in"),
    ("root@a.example: Permission denied (publickey,password).", "not-let-in"),
    ("Permission denied, please try again.", "not-let-in"),
    ("FATAL ERROR: No supported authentication methods available", "not-let-in"),
    ("paramiko.ssh_exception.AuthenticationException: Authentication failed.", "not-let-in"),
    (
        "Received disconnect from 10.0.0.5 port 22:2: Too many authentication failures",
        "too-many-keys",
    ),
    ("Host key verification failed.", "host-key-undecided"),
    (
        "The authenticity of host '[a.example]:22022 ([203.0.113.7]:22022)' can't be established.",
        "host-key-unknown",
    ),
    (
        "@@@@\nWARNING: POTENTIAL SECURITY BREACH!\nThe server's host key does not match",
        "host-key-changed",
    ),
    ("Permissions 0777 for '/mnt/c/Users/li/.ssh/id_rsa' are too open.", "key-on-windows-disk"),
    ("Permissions 0644 for '/home/li/.ssh/id_rsa' are too open.", "key-too-open"),
    (
        "@ WARNING: UNPROTECTED PRIVATE KEY FILE! @\nPermissions 0644 for 'k' are too open.",
        "key-too-open",
    ),
    ('Load key "/home/li/key": invalid format', "key-unreadable"),
    ('Load key "/home/li/key.pem": error in libcrypto', "key-unreadable"),
    ("no such identity: C:Usersstukey.pem: No such file or directory", "key-path-swallowed"),
    ("no such identity: /home/li/.ssh/nowhere: No such file or directory", "key-missing"),
    ("Warning: Identity file /home/li/x not accessible: No such file or directory.", "key-missing"),
    ("sign_and_send_pubkey: no mutual signature algorithm", "nothing-in-common"),
    (
        "Unable to negotiate with 10.0.0.5 port 22: no matching host key type found.",
        "nothing-in-common",
    ),
    ("kex_exchange_identification: Connection closed by remote host", "closed-at-greeting"),
    ("kex_exchange_identification: read: Connection reset by peer", "closed-at-greeting"),
    ("Connection closed by UNKNOWN port 65535", "closed-at-greeting"),
    ("Connection closed by 203.0.113.7 port 22022", "closed-at-greeting"),
    ("client_loop: send disconnect: Broken pipe", "cut"),
    ("Connection to a.example closed by remote host.", "cut"),
    ("Timeout, server a.example not responding.", "timed-out"),
    ("packet_write_wait: Connection to 1.2.3.4 port 22: Broken pipe", "cut"),
    (
        "mux_client_request_session: session request failed: Session open refused by peer",
        "sessions-full",
    ),
    ("channel 0: open failed: administratively prohibited: open failed", "forwarding-forbidden"),
    ("stdio forwarding failed\nConnection closed by UNKNOWN port 65535", "not-led-on"),
    (
        "Host key verification failed.\nConnection closed by UNKNOWN port 65535",
        "hop-key-undecided",
    ),
    ("Error: Your SSH client doesn't support PTY", "pty-only-proxy"),
    ("This account is currently not available.", "account-closed"),
    ("Your account has expired; please contact your system administrator.", "account-closed"),
    ("subsystem request failed on channel 0\nscp: Connection closed", "no-sftp"),
    ("Received message too long 1416128883", "shell-not-clean"),
    ("rsync error: some files could not be transferred (code 23) at main.c(1338)", "rsync-failed"),
    (
        "li@a: Permission denied (publickey).\nrsync error: unexplained error (code 255) at io.c",
        "not-let-in",
    ),
    ("bash: line 1: sudo: command not found", "sudo-missing"),
    ("sh: 1: sudo: not found", "sudo-missing"),
    ("sudo: no tty present and no askpass program specified", "sudo-password"),
    ("sh: 1: poweroff: not found", "no-shutdown"),
    ("Failed to connect to bus: No such file or directory", "no-systemd"),
    ("bash: tmux: \u672a\u627e\u5230\u547d\u4ee4", "tmux-missing"),
    ("duplicate session: train", "tmux-twice"),
    ("bash: rsync: command not found", "rsync-missing"),
    ("fish: Unknown command: nvcc", "command-missing"),
    ("bash: warning: setlocale: LC_ALL: cannot change locale (zh_CN.UTF-8)", "locale-noise"),
    ("/usr/bin/rm: Argument list too long", "arguments-too-long"),
    ("touch: cannot touch 'x': Read-only file system", "read-only"),
    ("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB", "cuda-out-of-memory"),
    (
        "DataLoader worker is killed by signal: Bus error. insufficient shared memory",
        "shared-memory-full",
    ),
    ("ModuleNotFoundError: No module named 'flash_attn'", "module-missing"),
    ("{'loss': nan, 'step': 120}", "loss-is-nan"),
    ("Killed", "killed-by-the-host"),
    ("torch.distributed.elastic: received closing signal SIGHUP", "session-closed"),
    (
        'Traceback (most recent call last):\n  File "train.py", line 3\nValueError: bad shape',
        "traceback",
    ),
    ("OSError: [Errno 28] No space left on device", "no-space-left"),
    ("", "nothing"),
    ("   \n", "nothing"),
    ("hello", "unknown"),
    ("grad_norm is fine, finance data", "unknown"),
]


@pytest.mark.parametrize(("text", "verdict"), OTHERS)
def test_other_words(text: str, verdict: str) -> None:
    """Other versions, systems and languages mean the same."""
    got = diagnose(text)

    assert verdict == got.verdict
    for language in LANGUAGES:
        assert got.means(language)
        assert "{" not in got.means(language) + got.next(language)


MISSING = [
    "bash: line 1: {}: command not found",
    "sh: 1: {}: not found",
    "zsh:1: command not found: {}",
    "fish: Unknown command: {}",
    "env: ‘{}’: No such file or directory",  # noqa: RUF001
    "bash: line 1: /usr/bin/{}: No such file or directory",
    "bash: {}：未找到命令",  # noqa: RUF001
    "bash: {}: 未找到命令",
    "bash: {}: Kommando nicht gefunden.",
    "bash: {} : commande introuvable",
    "bash: {}: コマンドが見つかりません",
    "bash: {}: команда не найдена",
    "bash: {}: orden no encontrada",
    "bash: {}: comando não encontrado",
    "bash: {}: 명령어를 찾을 수 없음",
]
PROGRAMS = {
    "sudo": "sudo-missing",
    "shutdown": "no-shutdown",
    "tmux": "tmux-missing",
    "rsync": "rsync-missing",
    "conda": "conda-not-ready",
    "nvcc": "command-missing",
}


@pytest.mark.parametrize("words", MISSING)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_that_is_not_there(program: str, words: str) -> None:
    """Each shell has its own words, in each language; the program decides what to do."""
    got = diagnose(words.format(program))

    assert PROGRAMS[program] == got.verdict
    assert got.facts.get("command", program) == program


NOT_WITHOUT_PASSWORD = [
    "sudo: 需要终端来读取密码；请使用 -S 选项从标准输入读取\nsudo: 需要密码",  # noqa: RUF001
    "sudo: Zum Lesen des Passworts ist ein Terminal erforderlich",
    "sudo: un mot de passe est nécessaire",
    "sudo: se requiere una contraseña",
    "sudo: パスワードが必要です",
    "sudo: требуется пароль",
    "sudo: 3 incorrect password attempts",
    "sudo: unable to resolve host box: Name or service not known\nsudo: a password is required",
]


@pytest.mark.parametrize("text", NOT_WITHOUT_PASSWORD)
def test_sudo_asks_for_a_password(text: str) -> None:
    """In any language: a power-off by it would fail at night."""
    assert "sudo-password" == diagnose(text).verdict


FOLDER = ROOT / "tests" / "diagnosis"
WORDINGS = [
    pytest.param(text, *name.split("/"), id=f"{name}:{text[:40]}")
    for name, texts in yaml.safe_load((FOLDER / "wordings.yaml").read_text("utf-8")).items()
    for text in texts
]


@pytest.mark.parametrize(("text", "kind", "verdict"), WORDINGS)
def test_a_wording(text: str, kind: str, verdict: str) -> None:
    """The cause is told, whatever stands around it and follows from it."""
    for shown in (text, f"$ run\n\x1b[31m{text}\x1b[0m\n", f"ordinary\r\n{text}\r\n"):
        got = diagnose(shown)

        assert (kind, verdict) == (got.kind, got.verdict)
        assert "{" not in got.means("zh") + got.next("zh")


@pytest.mark.parametrize("text", yaml.safe_load((FOLDER / "harmless.yaml").read_text("utf-8")))
def test_a_text_in_which_nothing_is_wrong(text: str) -> None:
    """No false alarm: the honest answer is that nothing is known of it."""
    assert "unknown" == diagnose(text).verdict


FACTS = [
    ("ssh: connect to host a.example port 2201: Connection refused", "host", "a.example"),
    ("ssh: connect to host a.example port 2201: Connection timed out", "port", 2201),
    (
        "ERROR: No matching distribution found for torch==1.7.1+cu110",
        "package",
        "torch==1.7.1+cu110",
    ),
    ("CUDA out of memory. Tried to allocate 2.00 GiB (GPU 1; 7 GiB", "asked", "2.00 GiB"),
    ("The NVIDIA driver on your system is too old (found version 11040).", "cuda", "11.4"),
    ("ImportError: libGL.so.1: cannot open shared object file", "library", "libGL.so.1"),
    ("PermissionError: [Errno 13] Permission denied: '/data/x'", "path", "/data/x"),
    ("rsync error: error in file IO (code 11) at main.c(675)", "code", 11),
    (
        "config: line 2: Bad configuration option: \\344\\270\\273",
        "what",
        "Bad configuration option: 主",
    ),
    ("config line 2: Bad port '99999'.", "what", "Bad port '99999'"),
    ("config line 2: Bad port 'PORT'.", "where", " (config, 2)"),
    ("Host a\n  hostname <ip>", "field", "hostname"),
    ("ED25519 host key for [10.0.0.5]:2201 has changed and", "name", "[10.0.0.5]:2201"),
    ("EnvironmentNameNotFound: Could not find conda environment: llm", "name", "llm"),
]


@pytest.mark.parametrize(("text", "key", "value"), FACTS)
def test_what_a_text_names(text: str, key: str, value: object) -> None:
    """Facts are plain data."""
    assert value == diagnose(text).facts[key]


SLOW = ["a", "ab c\n", "sudo: ", "Traceback (most recent call last)\n", "Host *\n  User a\n", "\0"]


@pytest.mark.parametrize("text", SLOW)
def test_a_large_text_is_an_answer_in_bounded_time(text: str) -> None:
    """No pattern is slow, however long a line or a text is."""
    began = time.monotonic()

    assert diagnose(text * (50_000_000 // len(text)))
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "gb18030", "utf-8-sig"])
def test_what_windows_writes(tmp_path: Path, encoding: str) -> None:
    """PowerShell redirects in UTF-16, an old console in the code page of its country."""
    file = tmp_path / "said.txt"
    file.write_bytes("ssh: connect to host a port 22: 拒绝连接\r\n".encode(encoding))

    assert "ssh: refused" in said(str(file)).stdout


def test_a_failed_command_has_its_next_step() -> None:
    """The same rows serve what a stage prints when it fails."""
    assert "safe.directory" in hint("fatal: detected dubious ownership in repository at '/x'")
    assert "" == hint("all is well")


@given(text=st.text(max_size=300))
def test_any_text_is_an_answer(text: str) -> None:
    """Whatever is pasted, the answer has its stable form and nothing that a terminal obeys."""
    plain = diagnose(text).plain()

    assert {"kind", "verdict", "facts", "advice"} == plain.keys()
    assert set(LANGUAGES) == plain["advice"].keys()
    assert "\x1b" not in json.dumps(plain["advice"], ensure_ascii=False)


NUMBERS = [
    (1685418843, "little", "[sud"),
    (1416128883, "big", "This"),
    (0, "big", ""),
    (7, "big", ""),
]


@pytest.mark.parametrize(("number", "order", "text"), NUMBERS)
def test_a_text_that_was_taken_for_a_number(
    number: int, order: Literal["little", "big"], text: str
) -> None:
    """Rsync and scp read the first four letters of a prompt or a banner as a number."""
    assert text == decoded(number, order)


def test_an_error_of_ssh_carries_the_next_step() -> None:
    """What the engine raises is of the same catalogue."""
    error = explain("ssh: connect to host a port 22: Connection refused", "mygpu")

    assert isinstance(error, HostError)
    assert "mygpu: the box is off" in error.args[0]
    assert "zuka rebind mygpu" in error.hint


DOORS = [
    (b"Error: Your SSH client doesn't support PTY\r\n", "direct TCP"),
    (b"This account is currently not available.\n", "right user"),
    (b"interactive login is required\n", "`jump:`"),
    ("欢迎使用堡垒机\r\nOpt> ".encode(), "`jump`"),
    (b"", "`jump`"),
]


@pytest.mark.parametrize(("said", "words"), DOORS)
def test_a_login_that_runs_nothing(said: bytes, words: str) -> None:
    """What it says instead is told, with the way in that runs commands."""
    error = runs_nothing(said, "mygpu")

    assert "mygpu: this login runs no commands" in error.args[0]
    assert words in error.hint


def test_how_many_keys_an_agent_holds() -> None:
    """The right one was never offered: the number says why."""
    text = "Received disconnect from 10.0.0.5 port 22:2: Too many authentication failures"

    assert "holds too many (7) (ssh: " in explain(text, "mygpu", agent=7).args[0]
    assert "holds too many (ssh: " in explain(text, "mygpu").args[0]


def said(*arguments: str, text: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return subprocess.run(
        [sys.executable, "-m", "zuka", "diagnose", *arguments],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **environment},
    )


def test_the_command(tmp_path: Path) -> None:
    """From a file or a pipe, for people in their language, for machines on one line."""
    log = tmp_path / "log"
    log.write_bytes(b"\xff\xfe" + b"x\n" * 3_000_000 + b"CUDA out of memory\n")
    from_file, from_pipe = said(str(log)), said("-", "--json", text="Connection refused\n")
    chinese, strange = said("-", text="Connection refused", LANG="zh_CN.UTF-8"), said(text="hello")

    assert (0, "log: cuda-out-of-memory") == (from_file.returncode, from_file.stdout.split("\n")[0])
    assert {"kind": "ssh", "verdict": "refused"}.items() <= json.loads(from_pipe.stdout).items()
    assert 1 == from_pipe.stdout.count("\n")
    assert "\u673a\u5668" in chinese.stdout
    assert 1 == strange.returncode
    assert 2 == said(str(tmp_path / "nowhere")).returncode


READ: list[tuple[str, str, dict[str, str]]] = [
    (
        "6-autodl-basic",
        "autodl",
        {"user": "root", "port": "25458", "hostname": "connect.bjx.example.com"},
    ),
    ("6-crlf-windows", "clBalancer", {"user": "ubuntu", "hostname": "10.0.0.12", "port": "22"}),
    ("6-host-with-extra-name", "i10z", {"hostname": "i10z.example.com", "port": "4160"}),
    ("6-runpod-controlmaster-pty", "runpod", {"hostname": "ssh.runpod.io"}),
    (
        "6-runpod-two-ways",
        "runpod-tcp",
        {"hostname": "192.0.2.10", "port": "22154", "user": "root"},
    ),
    (
        "6-tabs-onion",
        "svu",
        {"user": "something", "proxycommand": "nc -w 300 -x localhost:9050 %h %p"},
    ),
    ("6-vscode-swallowed-backslash", "hostname", {"identityfile": "C:Usersstukey.pem"}),
]


@pytest.mark.parametrize(("name", "host", "want"), READ)
def test_a_config_is_read_as_ssh_reads_it(name: str, host: str, want: dict[str, str]) -> None:
    """Nobody else parses it, and nobody writes it."""
    path = CONFIGS / f"{name}.conf"
    before = path.read_bytes()

    assert want.items() <= sshconfig.effective(Machine(host), path).items()
    assert before == path.read_bytes()


@pytest.mark.parametrize("nested", [False, True])
def test_included_files_are_read_where_ssh_reads_them(tmp_path: Path, *, nested: bool) -> None:
    """An Include inside a Host block holds for that host alone."""
    name = "6-include-inside-specific-host" if nested else "6-include-top"
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d" / "01").write_text("Host boxb\n  HostName 10.0.0.9\n  Port 2222\n")
    (tmp_path / "nested").write_text("Host boxc\n  HostName 10.0.0.10\n")
    config = tmp_path / "config"
    config.write_text((CONFIGS / f"{name}.conf").read_text().replace("ZDIR", str(tmp_path)))
    got = sshconfig.effective(Machine("boxc" if nested else "boxb"), config)

    assert ("boxc", "22") if nested else ("10.0.0.9", "2222") == (got["hostname"], got["port"])


WRONG = [
    ("6-invalid-word", r'line 1: no argument after keyword "lolwut"'),
    ("6-match-no-arg", "line 1: Bad Match condition"),
    ("6-robey-equals", "line 14: Bad configuration option: crazy"),
    ("6-vscode-written-chinese-placeholder", "<\u63a7\u5236\u53f0\u7ed9\u51fa\u7684\u7aef\u53e3>"),
    ("6-win-space-unquoted", "needs quotes"),
]


@pytest.mark.parametrize(("name", "message"), WRONG)
def test_a_wrong_config_is_told_with_its_line(name: str, message: str) -> None:
    """It is the configuration that is wrong, not the box that cannot be reached."""
    with pytest.raises(HostError) as caught:
        sshconfig.effective(Machine("x"), CONFIGS / f"{name}.conf")

    assert message in caught.value.args[0]
    assert f"{name}.conf" in str(caught.value)


def test_match_exec_is_run_by_no_plan(tmp_path: Path) -> None:
    """`ssh -G` runs what stands in Match exec: only a command that connects calls it."""
    sources = [*(ROOT / "zuka").rglob("*.py")]
    users = {path.name for path in sources if "sshconfig.effective" in path.read_text()}

    assert {"doctor.py", "connection.py"} == users
    assert tmp_path


DOUBTS = [
    ("6-autodl-basic", "autodl", "StrictHostKeyChecking no"),
    ("6-vscode-swallowed-backslash", "hostname", "lost its backslashes"),
]


@pytest.mark.parametrize(("name", "host", "words"), DOUBTS)
def test_what_is_strange_in_a_config(name: str, host: str, words: str) -> None:
    """It works, and is told all the same."""
    settings = sshconfig.effective(Machine(host), CONFIGS / f"{name}.conf")

    assert words in " ".join(each.means("en") for each in sshconfig.doubts(settings))


STRANGE = [
    ("HostName <控制台给出的主机>", "placeholder"),
    ("HostName 你的IP", "placeholder"),
    ("HostName your_server_ip", "placeholder"),
    ("HostName xxx.xxx.xxx.xxx", "placeholder"),
    ("User <user>", "placeholder"),
    ("IdentityFile <path/to/key>", "placeholder"),
    ("HostName 10.0.0.5:22022", "name-with-more"),
    ("HostName root@10.0.0.5", "name-with-more"),
    ("IdentityFile ~/.ssh/id_rsa\n IdentityFile D:keyskey.pem", "key-path-of-windows"),
    ("IdentityFile ~/.ssh/no-such-key", "key-missing"),
    ("StrictHostKeyChecking off", "host-may-be-anybody"),
    ("UserKnownHostsFile /dev/null /dev/null", "hosts-forgotten"),
    ("HostName 2001:db8::1\n User li\n IdentityFile ~/.ssh/id_rsa\n Port 22022", ""),
    ("IdentityFile ~/.ssh/id_%h\n HostName gpu.example.net", ""),
    ("IdentityFile none", ""),
    ("", ""),
]


@pytest.mark.parametrize(("text", "verdict"), STRANGE)
def test_what_is_left_to_mend_in_a_config(tmp_path: Path, text: str, verdict: str) -> None:
    """What ssh takes, and no box can be meant by; nothing is said of what is right."""
    config = tmp_path / "config"
    config.write_bytes(f"Host a\n {text}\n".replace("\n", "\r\n").encode())
    found = [*sshconfig.doubts(sshconfig.effective(Machine("a"), config))]

    assert ([verdict] if verdict else []) == [each.verdict for each in found]
    assert all(each.next(language) for each in found for language in LANGUAGES)
