"""Which objects came to be while this process alone could act on them: nobody else can have done anything for those."""

from __future__ import annotations


class Solitude:
    """`is_sole`: is there an election, so that of several processes one acts? By the object's UID."""

    def __init__(self, is_sole: bool) -> None:
        self._is_sole = is_sole
        self._acting = False
        self._born: set[str] = set()

    def begin(self) -> None:
        """This process acts from now on. What is there already may be another's work."""
        self._acting = True

    def end(self) -> None:
        """It acts no longer."""
        self._acting = False
        self._born.clear()

    def appeared(self, uid: str) -> None:
        """An object that was not there before."""
        if self._is_sole and self._acting:
            self._born.add(uid)

    def of(self, uid: str) -> bool:
        return uid in self._born

    def forget(self, uid: str) -> None:
        """The object is gone."""
        self._born.discard(uid)
