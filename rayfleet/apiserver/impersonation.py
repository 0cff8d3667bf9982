"""Who asks in another's name (kubectl --as).

Source: https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rayfleet.apiserver.auth import User
from rayfleet.apiserver.authorization import ACCOUNT, Attributes, permitted, refusal
from rayfleet.apiserver.status_error import bad_request

if TYPE_CHECKING:
    from multidict import CIMultiDictProxy

    from rayfleet.apiserver.api import Api

NAME, GROUP, UID = "Impersonate-User", "Impersonate-Group", "Impersonate-Uid"
MASTERS, AUTHENTICATED, ANONYMOUS = "system:masters", "system:authenticated", "system:anonymous"


def impersonated(api: Api, user: User, headers: CIMultiDictProxy[str]) -> User:
    """Whom the request is judged as. Raises 403 when the caller may not, 400 when no user is named."""
    name, groups, uid = headers.get(NAME, ""), tuple(headers.getall(GROUP, ())), headers.get(UID, "")
    if not name and not groups and not uid:
        return user
    if not name:
        raise bad_request("requested groups or a uid without impersonating a user name")
    for asked in _asked(name, groups, uid):
        if permitted(api, user, asked) is None:
            raise refusal(user, asked)
    return User(name, (*groups, *_implied(name, groups)), uid, trusted=MASTERS in groups)


def _asked(name: str, groups: tuple[str, ...], uid: str) -> Iterator[Attributes]:
    if name.startswith(ACCOUNT):
        namespace, _, account = name.removeprefix(ACCOUNT).partition(":")
        yield Attributes("impersonate", "", "serviceaccounts", namespace, account)
    else:
        yield Attributes("impersonate", "", "users", "", name)
    yield from (Attributes("impersonate", "", "groups", "", group) for group in groups)
    if uid:
        yield Attributes("impersonate", "authentication.k8s.io", "uids", "", uid)


def _implied(name: str, groups: tuple[str, ...]) -> Iterator[str]:
    """The groups that everybody of a kind is in; those of a service account only when none is named."""
    if name.startswith(ACCOUNT) and not groups:
        yield from ("system:serviceaccounts", f"system:serviceaccounts:{name.removeprefix(ACCOUNT).partition(':')[0]}")
    if name != ANONYMOUS and AUTHENTICATED not in groups:
        yield AUTHENTICATED
