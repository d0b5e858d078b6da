"""`python -m ganger` is the command `ganger`."""

from ganger.command import main

main()
