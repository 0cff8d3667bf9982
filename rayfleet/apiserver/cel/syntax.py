"""CEL's syntax (https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax): from text to a tree."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
    |(?P<string>[rRbB]{0,2}(?:\"\"\".*?\"\"\"|'''.*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))
    |(?P<double>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<uint>(?:0x[0-9a-fA-F]+|\d+)[uU])
    |(?P<int>0x[0-9a-fA-F]+|\d+)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign>==|!=|<=|>=|&&|\|\||[-+*/%!<>?:.,()\[\]{}])""",
    re.VERBOSE | re.DOTALL,
)
_LEVELS = (("||",), ("&&",), ("==", "!=", "<", "<=", ">", ">=", "in"), ("+", "-"), ("*", "/", "%"))


class Unreadable(Exception):
    """Not CEL, or CEL of a kind that is not read here."""


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class Expression:
    """`kind`: literal (`name` is its type), name, select, call (`target` None: a function), index, list, map. `at`: offset in the text."""

    kind: str
    name: str
    at: int
    target: Expression | None = None
    arguments: tuple[Expression, ...] = ()


def parse(text: str) -> Expression:
    """Raises Unreadable."""
    parser = _Parser(_tokens(text))
    found = parser.expression()
    if parser.token.kind != "end":
        raise Unreadable(parser.token.text)
    return found


def _tokens(text: str) -> list[Token]:
    tokens, at = [], 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise Unreadable(text[at:])
        if found.lastgroup != "space":
            tokens.append(Token(str(found.lastgroup), found[0], at))
        at = found.end()
    return [*tokens, Token("end", "", at)]


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._next = 0

    @property
    def token(self) -> Token:
        return self._tokens[self._next]

    def take(self, text: str = "") -> Token:
        token = self.token
        if token.kind == "end" or (text and token.text != text):
            raise Unreadable(token.text)
        self._next += 1
        return token

    def found(self, text: str) -> Token | None:
        return self.take() if self.token.text == text and self.token.kind in ("sign", "name") else None

    def expression(self) -> Expression:
        condition = self.binary(0)
        if (mark := self.found("?")) is None:
            return condition
        yes = self.binary(0)
        self.take(":")
        return Expression("call", "_?_:_", mark.at, None, (condition, yes, self.expression()))

    def binary(self, level: int) -> Expression:
        if level == len(_LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while self.token.text in _LEVELS[level] and self.token.kind in ("sign", "name"):
            sign = self.take()
            name = "@in" if sign.text == "in" else f"_{sign.text}_"
            left = Expression("call", name, sign.at, None, (left, self.binary(level + 1)))
        return left

    def unary(self) -> Expression:
        if self.token.kind == "sign" and self.token.text in ("!", "-"):
            sign = self.take()
            return Expression("call", f"{sign.text}_", sign.at, None, (self.unary(),))
        return self.member()

    def member(self) -> Expression:
        value = self.primary()
        while True:
            if dot := self.found("."):
                value = self.selected(value, dot)
            elif bracket := self.found("["):
                inside = self.expression()
                self.take("]")
                value = Expression("index", "_[_]", bracket.at, value, (inside,))
            else:
                return value

    def selected(self, value: Expression, dot: Token) -> Expression:
        if self.token.kind != "name":
            raise Unreadable(self.token.text)
        name = self.take().text
        if opening := self.found("("):
            return Expression("call", name, opening.at, value, self.several(")"))
        return Expression("select", name, dot.at, value)

    def primary(self) -> Expression:
        token = self.take()
        if token.kind in ("int", "uint", "double"):
            return Expression("literal", token.kind, token.at)
        if token.kind == "string":
            return Expression("literal", "bytes" if token.text[0] in "bB" else "string", token.at)
        if token.kind == "name":
            return self.named(token)
        if token.text == "(":
            inside = self.expression()
            self.take(")")
            return inside
        if token.text == "[":
            return Expression("list", "", token.at, None, self.several("]"))
        if token.text == "{":
            return Expression("map", "", token.at, None, self.entries())
        raise Unreadable(token.text)

    def named(self, token: Token) -> Expression:
        if token.text in ("true", "false", "null"):
            return Expression("literal", "null_type" if token.text == "null" else "bool", token.at)
        if opening := self.found("("):
            return Expression("call", token.text, opening.at, None, self.several(")"))
        return Expression("name", token.text, token.at)

    def several(self, end: str) -> tuple[Expression, ...]:
        found: list[Expression] = []
        while not self.found(end):
            found.append(self.expression())
            if self.token.text != end:
                self.take(",")
        return tuple(found)

    def entries(self) -> tuple[Expression, ...]:
        """Keys and values in turn."""
        found: list[Expression] = []
        while not self.found("}"):
            found.append(self.expression())
            self.take(":")
            found.append(self.expression())
            if self.token.text != "}":
                self.take(",")
        return tuple(found)
