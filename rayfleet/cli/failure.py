"""What a person reads when a command fails: a sentence, and what to do instead; no traceback for what can be expected."""

from __future__ import annotations

from typing import IO, Any

import click


class Failure(click.ClickException):
    """The command could not do what it was asked; exit code 1."""

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"Error: {self.format_message()}", err=True)


def explain(error: BaseException) -> str | None:
    """The sentence for an error that can be expected; None for one that is a fault of this program."""
    if isinstance(error, BaseExceptionGroup):
        sentences = [explain(part) for part in error.exceptions]
        return None if None in sentences else "; ".join(filter(None, sentences))
    expected = expected_errors()
    if not isinstance(error, expected):
        return None
    if (status := getattr(error, "status", None)) == 0:
        return f"{error}\nIs the API server up? `rayfleet status` tells of a local fleet; --kubeconfig names another API server."
    if status == 401:
        return f"{error}\nIts kubeconfig may be of a local fleet that is no more: `rayfleet up` writes a new one."
    return str(error)


def expected_errors() -> tuple[type[BaseException], ...]:
    from rayfleet.kube.connection import ConfigError
    from rayfleet.kube.errors import ApiError
    from rayfleet.local.configuration import NotConfigured
    from rayfleet.local.namespaces import HostLacks
    from rayfleet.local.spawn import NotStarted
    from rayfleet.local.start import NotUp

    return (ApiError, ConfigError, HostLacks, NotConfigured, NotUp, NotStarted, OSError)
