"""The command line: one file a command, and the only place where the parts are put together.

Modules of commands import nothing heavy at their top: `rayfleet --help` must not load an HTTP library.
"""
