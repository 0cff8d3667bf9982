"""The shim's loop. One JSON object a line, both ways, on `shim.sock`; several kubelets one after the other, or none.

Asked:    {"id", "op": "start", "name", "attempt", "uid", "init", "argv", "env", "cwd", "mounts"}   starts a container
          {"id", "op": "kill", "name", "signal"}                                          signals its first process
          {"id", "op": "exec", "name", "argv", "env", "cwd", "timeout"}                   runs a command inside it
          {"id", "op": "stream", "name", "argv", "env", "cwd", "stdin", "tty"}            the same, with its streams
          {"id", "op": "attach", "name"}                                                  its output from now on, and its input
          {"id", "op": "hang_up", "name"}                                                 closes its input
          {"id", "op": "list"}                                                            containers, and ends that the disk did not take
          {"id", "op": "socket"}                                                          a TCP socket of the Pod's network
Answered: {"id", ...} with `error` when it failed; exec answers when the command ended, with `code` and `output`; list with `records`.
stream, attach and socket come with descriptors; `streams` names them in their order. A streamed command's `code` follows at its end.
Told to every kubelet that listens: {"ended": record}.
"""

# os instead of pathlib, which would make each Pod's shim a tenth larger.
from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import sys
import time
from typing import Any

from rayfleet.kubelet.shim import process, record
from rayfleet.kubelet.shim.streams import NOTHING, close, send

SLOWEST_CLIENT = 1.0  # seconds; a kubelet that does not read is let go, and will come again
OUTPUT_KEPT = 10 * 1024  # bytes of what a command inside a container printed


class Container:
    def __init__(self, pid: int, streams: list[int], log: record.Log, facts: dict[str, Any]) -> None:
        self.pid, self.log, self.facts = pid, log, facts
        self.cgroups: list[str] = []
        self.input, self.output, _ = streams
        self.listeners: set[int] = set()  # pipes to those who are attached
        os.set_blocking(self.output, False)

    def hear(self, piece: bytes) -> None:
        self.log.feed(piece)
        for listener in list(self.listeners):
            try:
                os.write(listener, piece)
            except BlockingIOError:  # who reads too slowly loses something: nobody else waits for that
                pass
            except OSError:
                self.listeners.remove(listener)
                os.close(listener)

    def hang_up(self) -> None:
        close([self.input])
        self.input = NOTHING

    def end(self) -> None:
        self.hang_up()
        close([*self.listeners])
        self.log.close()


class Command:
    """Without an output its streams are somebody else's, and so is its time."""

    def __init__(self, pid: int, output: int, client: socket.socket, request: dict[str, Any]) -> None:
        self.pid, self.output, self.client, self.request = pid, output, client, request
        self.said = b""
        self.deadline = time.monotonic() + request.get("timeout", float("inf"))
        self.late = False


class Shim:
    def __init__(self, directory: str, listener: socket.socket) -> None:
        self.directory = directory
        self.containers: dict[int, Container] = {}
        self.commands: dict[int, Command] = {}
        self.clients: dict[socket.socket, bytes] = {}
        self.unkept: dict[str, dict[str, Any]] = {}  # records that could not be written, by the uid of the container's life
        self.selector = selectors.DefaultSelector()
        self.selector.register(listener, selectors.EVENT_READ, self.accept)
        self.wake, wake_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
        self.selector.register(self.wake, selectors.EVENT_READ, self.reap)

    def run(self) -> None:
        while True:
            for key, _ in self.selector.select(self.patience()):
                key.data(key.fileobj)
            self.end_late_commands()

    def patience(self) -> float | None:
        """Seconds until the first command inside a container is overdue."""
        waiting = [command.deadline for command in self.commands.values() if not command.late and command.output != NOTHING]
        return max(0.0, min(waiting) - time.monotonic()) if waiting else None

    # what kubelets ask

    def accept(self, listener: socket.socket) -> None:
        client, _ = listener.accept()
        client.settimeout(SLOWEST_CLIENT)
        self.clients[client] = b""
        self.selector.register(client, selectors.EVENT_READ, self.hear)

    def hear(self, client: socket.socket) -> None:
        try:
            piece = client.recv(65536)
        except OSError:
            piece = b""
        if not piece:
            self.forget(client)
            return
        *lines, self.clients[client] = (self.clients[client] + piece).split(b"\n")
        for line in lines:
            self.obey(client, json.loads(line))

    def forget(self, client: socket.socket) -> None:
        if self.clients.pop(client, None) is not None:
            self.selector.unregister(client)
            client.close()

    def obey(self, client: socket.socket, request: dict[str, Any]) -> None:
        try:
            answer = getattr(self, "do_" + request["op"], refuse)(client, request)
        except (process.StartFailed, OSError, LookupError) as error:
            answer = {"error": str(error)}
        if answer is not None:
            self.tell(client, {"id": request["id"], **answer})

    def tell(self, client: socket.socket, message: dict[str, Any]) -> None:
        try:
            client.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            self.forget(client)

    def do_start(self, client: socket.socket, request: dict[str, Any]) -> dict[str, Any]:
        """One that runs is not started twice: a kubelet asks again when the answer took too long for it."""
        for container in self.containers.values():
            if container.facts["name"] == request["name"]:
                return {"record": container.facts}
        facts = {key: request[key] for key in ("name", "attempt", "uid", "init")}
        facts |= {"started_at": time.time(), "finished_at": None, "exit_code": None, "signal": 0, "error": ""}
        log = record.Log(f"{self.directory}/containers/{facts['name']}/{facts['attempt']}.log")
        try:
            pid, streams = process.start_container(self.directory, request)
        except (process.StartFailed, OSError) as error:
            log.close()
            facts |= {"finished_at": time.time(), "exit_code": 128, "error": str(error)}
            self.keep(facts)
            return {"record": facts}
        container = self.containers[pid] = Container(pid, streams, log, facts)
        container.cgroups = request.get("cgroups") or []
        self.selector.register(container.output, selectors.EVENT_READ, lambda fd: self.pump(pid))
        self.keep(facts)
        return {"record": facts}

    def keep(self, facts: dict[str, Any]) -> None:
        self.unkept.pop(facts["uid"], None)
        try:
            record.write(self.directory, facts)
        except OSError as error:  # a full disk must not cost the Pod; the kubelet is told in any case, and the next one when it asks
            self.unkept[facts["uid"]] = facts
            with contextlib.suppress(OSError):  # its own log lies on the same disk
                os.write(sys.stderr.fileno(), f"{error}\n".encode())

    def do_list(self, client: socket.socket, request: dict[str, Any]) -> dict[str, Any]:
        for facts in list(self.unkept.values()):
            self.keep(facts)
        return {"records": [*self.unkept.values(), *(container.facts for container in self.containers.values())]}

    def do_kill(self, client: socket.socket, request: dict[str, Any]) -> dict[str, Any]:
        os.kill(self.running(request["name"]).pid, request["signal"])
        return {}

    def do_exec(self, client: socket.socket, request: dict[str, Any]) -> None:
        within = self.running(request["name"])
        pid, streams = process.start_inside(within.pid, {**request, "cgroups": within.cgroups}, merged=True)
        os.set_blocking(streams[1], False)
        self.commands[pid] = Command(pid, streams[1], client, request)
        self.selector.register(streams[1], selectors.EVENT_READ, lambda fd: self.listen_to(pid))

    def do_stream(self, client: socket.socket, request: dict[str, Any]) -> None:
        within = self.running(request["name"])
        pid, streams = process.start_inside(within.pid, {**request, "cgroups": within.cgroups}, merged=False)
        self.commands[pid] = Command(pid, NOTHING, client, request)
        self.hand_over(client, request, streams)

    def do_attach(self, client: socket.socket, request: dict[str, Any]) -> None:
        container = self.running(request["name"])
        output, listener = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(listener, False)
        container.listeners.add(listener)
        own = NOTHING if container.input == NOTHING else os.dup(container.input)
        self.hand_over(client, request, [own, output, NOTHING])

    def do_hang_up(self, client: socket.socket, request: dict[str, Any]) -> dict[str, Any]:
        self.running(request["name"]).hang_up()
        return {}

    def do_socket(self, client: socket.socket, request: dict[str, Any]) -> None:
        """A socket belongs to the network in which it was made, whoever connects it."""
        self.hand_over(client, request, [NOTHING, socket.socket(socket.AF_INET, socket.SOCK_STREAM).detach(), NOTHING])

    def hand_over(self, client: socket.socket, request: dict[str, Any], streams: list[int]) -> None:
        """Input, output and error, as far as there are such, to the client alone."""
        named = {name: fd for name, fd in zip(("stdin", "stdout", "stderr"), streams, strict=True) if fd != NOTHING}
        try:
            send(client, json.dumps({"id": request["id"], "streams": list(named)}).encode() + b"\n", list(named.values()))
        except OSError:
            self.forget(client)
        finally:
            close(streams)

    def running(self, name: str) -> Container:
        for container in self.containers.values():
            if container.facts["name"] == name:
                return container
        raise LookupError(f"container {name} is not running")

    # what containers and commands do

    def pump(self, pid: int) -> bool:
        """Moves one piece of output to the log. Returns whether there may be more now."""
        container = self.containers.get(pid)
        if container is None:  # it ended a moment ago, in the same round
            return False
        piece = read_some(container.output)
        if piece:
            container.hear(piece)
        elif piece == b"" and container.output in self.selector.get_map():
            self.selector.unregister(container.output)
        return bool(piece)

    def listen_to(self, pid: int) -> bool:
        command = self.commands.get(pid)
        if command is None:
            return False
        piece = read_some(command.output)
        if piece:
            command.said = (command.said + piece)[:OUTPUT_KEPT]
        elif piece == b"" and command.output in self.selector.get_map():
            self.selector.unregister(command.output)
        return bool(piece)

    def end_late_commands(self) -> None:
        for command in self.commands.values():
            if not command.late and time.monotonic() >= command.deadline:
                command.late = True
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(command.pid, signal.SIGKILL)

    def reap(self, wake: int) -> None:
        read_some(wake)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self.containers:
                self.container_ended(pid, status)
            elif pid in self.commands:
                self.command_ended(pid, status)

    def container_ended(self, pid: int, status: int) -> None:
        while self.pump(pid):
            pass
        container = self.containers.pop(pid)
        self.release(container.output)
        container.end()
        code, number = process.end_of(status)
        container.facts |= {"finished_at": time.time(), "exit_code": code, "signal": number}
        container.facts["oom_killed"] = process.was_out_of_memory(container.cgroups)
        self.keep(container.facts)
        for client in list(self.clients):
            self.tell(client, {"ended": container.facts})

    def command_ended(self, pid: int, status: int) -> None:
        while self.commands[pid].output != NOTHING and self.listen_to(pid):
            pass
        command = self.commands.pop(pid)
        if command.output != NOTHING:
            self.release(command.output)
        answer = {"code": process.end_of(status)[0], "output": command.said.decode(errors="replace"), "late": command.late}
        if command.client in self.clients:
            self.tell(command.client, {"id": command.request["id"], **answer})

    def release(self, output: int) -> None:
        if output in self.selector.get_map():
            self.selector.unregister(output)
        os.close(output)


def refuse(client: socket.socket, request: dict[str, Any]) -> dict[str, Any]:
    """A later kubelet may ask for more than this shim can do."""
    return {"error": f"this shim cannot {request['op']}"}


def read_some(fd: int) -> bytes | None:
    """b"" at the end, None when there is nothing now."""
    try:
        return os.read(fd, 65536)
    except BlockingIOError:
        return None
    except OSError:  # a terminal that nobody holds any more
        return b""
