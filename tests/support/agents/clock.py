"""A clock that a test moves under a program: one that has waited for an hour, in seconds.

A library is loaded before the program's own, and adds to what the system's clocks say. The program's children have the
system's clocks.
"""

import shutil
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path

HAS_COMPILER = shutil.which("cc") is not None
_SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long *ahead;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("CLOCK_AHEAD");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, 16, PROT_READ, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) ahead = mapped;
  unsetenv("LD_PRELOAD");
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int failed = syscall(SYS_clock_gettime, clock, now);
  if (failed || !ahead || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID) return failed;
  now->tv_sec += ahead[clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE];
  return 0;
}

int gettimeofday(struct timeval *now, void *zone) {
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *now) {
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  if (now) *now = precise.tv_sec;
  return precise.tv_sec;
}
"""


class Clock:
    """The clock of the programs that are started with `variables`. It begins `behind` seconds before the system's."""

    def __init__(self, folder: Path, behind: int) -> None:
        self._behind, self._file, library = behind, folder / "clock", folder / "clock.so"
        self._set(-behind, 0)
        source = folder / "clock.c"
        source.write_text(_SOURCE)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
        self.variables: Mapping[str, str] = {"LD_PRELOAD": str(library), "CLOCK_AHEAD": str(self._file)}

    def catch_up(self) -> None:
        """Lets the time pass until it is the system's."""
        self._set(0, self._behind)

    def _set(self, wall: int, steady: int) -> None:
        """Sets what is added to the time of day, and to the clocks that only go on, in seconds."""
        with self._file.open("r+b" if self._file.exists() else "wb") as file:
            file.write(struct.pack("=qq", wall, steady))
