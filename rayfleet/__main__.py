"""`python -m rayfleet` is the same as the command `rayfleet`."""

from rayfleet.cli.main import main

main()
