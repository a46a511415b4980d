"""What befalls the server: killed, stopped for a while, a disk that is full, fails or writes by half, a clock that is
set."""

import ctypes
import errno
import mmap
import os
import signal
import struct
import subprocess
import threading
import time

READS, WRITES, SYNCS = 1, 2, 4
FOR_EVER = 1 << 30
HOUR, YEAR = 3_600_000, 365 * 86_400_000
DAY = 24 * HOUR


class Nemeses:
    """libraries: tests/faults/system_calls.so and tests/model/clock.so, whose orders are files in `folder`."""

    def __init__(self, folder, libraries, disk, rng):
        self.folder, self.rng, self.disk = folder, rng, disk
        self.counts = {}
        (folder / "calls").write_bytes(bytes(20))
        (folder / "clock").write_bytes(bytes(24))
        with (folder / "calls").open("r+b") as file:
            self._calls_map = mmap.mmap(file.fileno(), 20)
        self._calls = (ctypes.c_int32 * 5).from_buffer(self._calls_map)
        with (folder / "clock").open("r+b") as file:
            self._clock = mmap.mmap(file.fileno(), 24)
        self.environment = {
            "LD_PRELOAD": ":".join(str(library) for library in libraries),
            "TEST_CALLS": str(folder / "calls"),
            "TEST_CALLS_DB": str(disk / "b.db"),
            "TEST_CLOCK": str(folder / "clock"),
        }

    def fail_calls(self, kind, cause):
        after, times = self.rng.randint(0, 40), self.rng.choice((1, 1, 2, 5, FOR_EVER))
        self._calls[0], self._calls[4] = 0, 0
        self._calls[1:4] = [after, times, cause]
        self._calls[0] = kind

    def heal(self):
        self._calls[0] = 0
        (self.disk / "filler").unlink(missing_ok=True)

    # ---- each lasts about so long, while the clients write; -> whether keys may be forgotten after it ----

    def nothing(self, _server, seconds):
        time.sleep(seconds)

    def stopped(self, server, seconds):
        for _ in range(3):
            time.sleep(seconds / 6)
            server.process.send_signal(signal.SIGSTOP)
            time.sleep(seconds / 6)
            server.process.send_signal(signal.SIGCONT)

    def bad_disk(self, _server, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            kind, cause = self.rng.choice(
                ((READS, errno.EIO), (WRITES, errno.EIO), (WRITES, errno.ENOSPC), (WRITES, errno.EDQUOT), (WRITES, 0), (SYNCS, errno.EIO))
            )
            self.fail_calls(kind, cause)
            time.sleep(min(seconds, 0.2))
            self._calls[0] = 0
            time.sleep(min(seconds, 0.05))
        if self.rng.random() < 0.5:  # it is killed in the middle of one
            self.fail_calls(WRITES, errno.EIO)

    def full_disk(self, _server, seconds):
        """Somebody else fills it, and leaves after a while or not before the server is killed."""
        time.sleep(seconds / 4)
        with (self.disk / "filler").open("wb", buffering=0) as filler:
            size = 1 << 20
            while size:
                try:
                    filler.write(bytes(size))
                except OSError:
                    size //= 2
        time.sleep(seconds / 2)
        if self.rng.random() < 0.5:
            (self.disk / "filler").unlink()
            time.sleep(seconds / 4)

    def clock_set(self, _server, seconds):
        large = False
        for _ in range(2):
            ahead = self.rng.choice((HOUR, -HOUR, 20 * HOUR, -YEAR, YEAR))
            large |= abs(ahead) >= 20 * HOUR
            self._clock[16:24] = struct.pack("<q", ahead)
            time.sleep(seconds / 2)
        if large or self.rng.random() < 0.5:
            self._clock[16:24] = bytes(8)
        return large

    def strike(self, server, seconds):
        kinds = [self.nothing, self.nothing, self.stopped, self.bad_disk, self.bad_disk, self.clock_set]
        if os.path.ismount(self.disk):
            kinds.append(self.full_disk)
        kind = self.rng.choice(kinds)
        self.counts[kind.__name__] = self.counts.get(kind.__name__, 0) + 1
        return kind.__name__, bool(kind(server, seconds))


def small_disk(folder, mib):
    """Mounts a file system of its own there, if that is allowed. -> whether it did"""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", str(folder)]
    return os.geteuid() == 0 and subprocess.run(mount, capture_output=True, check=False).returncode == 0


def leave_disk(folder):
    subprocess.run(["umount", "-l", str(folder)], check=True)


def each(function, items):
    """Calls it for each item, in a thread of its own, and waits for all."""
    threads = [threading.Thread(target=function, args=(item,)) for item in items]
    for thread in threads:
        thread.start()
    return threads
