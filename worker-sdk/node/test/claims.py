"""Starts a worker with an eventfd, which Node.js cannot make.

Puts tokens into it and takes them as descriptor 5 says.
"""

import os
import socket
import subprocess
import sys

claims = os.eventfd(0, os.EFD_SEMAPHORE | os.EFD_NONBLOCK)
worker = subprocess.Popen(sys.argv[1:], pass_fds=(3, 4, claims), stdin=subprocess.DEVNULL)
os.close(3)
os.close(4)


def take() -> bool:
    try:
        os.eventfd_read(claims)
    except BlockingIOError:
        return False
    return True


def left() -> int:
    count = 0
    while take():
        count += 1
    if count > 0:
        os.eventfd_write(claims, count)
    return count


with socket.socket(fileno=5).makefile("rw") as commands:
    print(claims, file=commands, flush=True)
    for line in commands:
        match line.split():
            case ["put", count]:
                answer = os.eventfd_write(claims, int(count))
            case ["take"]:
                answer = int(take())
            case ["left"]:
                answer = left()
            case ["end"]:
                answer = worker.wait()
            case _:
                raise ValueError(line)
        print(answer, file=commands, flush=True)
worker.kill()
sys.exit(worker.wait())
