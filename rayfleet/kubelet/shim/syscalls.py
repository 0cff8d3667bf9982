"""The system calls around namespaces and mounts, through the C library: Python has some of them only from 3.12 on."""

from __future__ import annotations

import ctypes
import os

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 0x1, 0x20, 0x1000, 0x4000, 0x40000
MNT_DETACH = 2
PR_CAPBSET_DROP, LAST_CAPABILITY = 24, 63
AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY = -100, 0x8000, 0x1
MOUNT_SETATTR = ctypes.c_long(442)
KEPT_ON_REMOUNT = os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC  # the same bits as MS_NOSUID, MS_NODEV and MS_NOEXEC

libc = ctypes.CDLL(None, use_errno=True)


def checked(result: int, what: str) -> None:
    """Raises OSError with the call's errno when it failed."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    checked(libc.unshare(flags), "unshare")


def setns(fd: int, flag: int) -> None:
    checked(libc.setns(fd, flag), "setns")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    arguments = (os.fsencode(source), os.fsencode(target), kind.encode() or None, ctypes.c_ulong(flags), data.encode() or None)
    checked(libc.mount(*arguments), f"mount {source or kind} on {target}")


def detach(target: str) -> None:
    checked(libc.umount2(os.fsencode(target), MNT_DETACH), f"umount {target}")


def pivot_root(new: str, old: str) -> None:
    checked(libc.pivot_root(os.fsencode(new), os.fsencode(old)), "pivot_root")


def sethostname(name: str) -> None:
    raw = name.encode()
    checked(libc.sethostname(raw, len(raw)), "sethostname")


def drop_capabilities(kept: frozenset[int]) -> None:
    """Root's other capabilities are lost with the next exec, for good."""
    for capability in range(LAST_CAPABILITY + 1):
        if capability not in kept:
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # refused for numbers that this kernel does not know


class MountAttributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("attr_set", "attr_clr", "propagation", "userns_fd")]


def make_read_only(target: str) -> None:
    """The mount and all below it; where the kernel is older than 5.12, the mount alone."""
    wanted = MountAttributes(attr_set=MOUNT_ATTR_RDONLY)
    where, size = ctypes.c_char_p(os.fsencode(target)), ctypes.c_size_t(ctypes.sizeof(wanted))
    # By its number, the same on all architectures: C libraries have it by name years later than kernels (glibc since 2.36).
    if libc.syscall(MOUNT_SETATTR, ctypes.c_long(AT_FDCWD), where, ctypes.c_long(AT_RECURSIVE), ctypes.byref(wanted), size) == 0:
        return
    mount("", target, "", MS_REMOUNT | MS_BIND | MS_RDONLY | (os.statvfs(target).f_flag & KEPT_ON_REMOUNT))
