"""CEL's syntax (https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax): from text to a tree."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from rayfleet.apiserver.cel.literals import number, text_of

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
    |(?P<string>[rRbB]{0,2}(?:\"\"\".*?\"\"\"|'''.*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))
    |(?P<double>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<uint>(?:0x[0-9a-fA-F]+|\d+)[uU])
    |(?P<int>0x[0-9a-fA-F]+|\d+)
    |(?P<name>[A-Za-z_]\w*|`[\w./ -]+`)
    |(?P<sign>==|!=|<=|>=|&&|\|\||[-+*/%!<>?:.,()\[\]{}])""",
    re.VERBOSE | re.DOTALL,
)
_LEVELS = (("||",), ("&&",), ("==", "!=", "<", "<=", ">", ">=", "in"), ("+", "-"), ("*", "/", "%"))


_BEGINNINGS = "'[', '{', '(', ')', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER"
"""what an operand may begin with"""


LONGEST = 100_000
"""code points of an expression, as in cel-go"""


class Unreadable(Exception):
    """Not CEL. The text is a whole error with the place in the expression marked."""


def marked(text: str, at: int, why: str) -> str:
    """An error as cel-go writes it."""
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1)
    return f"ERROR: <input>:{line}:{column + 1}: {why}\n | {text.split(chr(10))[line - 1]}\n | {'.' * column}^"


def unbounded(why: str) -> Unreadable:
    """Too large as a whole."""
    return Unreadable(f"ERROR: <input>:-1:0: {why}")


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class Expression:
    """`kind`: literal (`name` is its type), name, select, call (`target` None: a function), index, list, map. `at`: offset in the text.

    `optional`: of a select or index: written `.?` or `[?`. Of an entry of a list or map: left out when it is none.
    """

    kind: str
    name: str
    at: int
    target: Expression | None = None
    arguments: tuple[Expression, ...] = ()
    value: Any = None
    """of a literal"""
    optional: bool = False


def parse(text: str) -> Expression:
    """Raises Unreadable."""
    if len(text) > LONGEST:
        raise unbounded(f"expression code point size exceeds limit: size: {len(text)}, limit {LONGEST}")
    parser = _Parser(text, _tokens(text))
    try:
        found = parser.expression()
    except RecursionError:
        raise unbounded("expression recursion limit exceeded: 250") from None
    if parser.token.kind != "end":
        raise parser.misread(f"extraneous input '{parser.token.text}' expecting <EOF>")
    return found


def _tokens(text: str) -> list[Token]:
    tokens, at = [], 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise Unreadable(marked(text, at, f"Syntax error: token recognition error at: '{text[at:]}'"))
        if found.lastgroup != "space":
            tokens.append(Token(str(found.lastgroup), found[0], at))
        at = found.end()
    return [*tokens, Token("end", "", at)]


def _balanced(operands: list[Expression], signs: list[Token]) -> Expression:
    """Long chains of && and || become trees that are not deep."""
    if not signs:
        return operands[0]
    middle = len(signs) // 2
    sides = _balanced(operands[: middle + 1], signs[:middle]), _balanced(operands[middle + 1 :], signs[middle + 1 :])
    return Expression("call", f"_{signs[middle].text}_", signs[middle].at, None, sides)


class _Parser:
    def __init__(self, text: str, tokens: list[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._next = 0

    def misread(self, why: str = "") -> Unreadable:
        why = why or f"mismatched input '{self.token.text or '<EOF>'}' expecting {{{_BEGINNINGS}}}"
        return Unreadable(marked(self._text, self.token.at, f"Syntax error: {why}"))

    @property
    def token(self) -> Token:
        return self._tokens[self._next]

    def take(self, text: str = "") -> Token:
        token = self.token
        if token.kind == "end" or (text and token.text != text):
            raise self.misread()
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
        operands, signs = [self.binary(level + 1)], []
        while self.token.text in _LEVELS[level] and self.token.kind in ("sign", "name"):
            signs.append(self.take())
            operands.append(self.binary(level + 1))
        if level < 2:
            return _balanced(operands, signs)
        left = operands[0]
        for sign, right in zip(signs, operands[1:], strict=True):
            left = Expression("call", "@in" if sign.text == "in" else f"_{sign.text}_", sign.at, None, (left, right))
        return left

    def unary(self) -> Expression:
        if self.token.kind == "sign" and self.token.text in ("!", "-"):
            sign = self.take()
            while self.found(sign.text):
                # Two of them are none.
                if not self.found(sign.text):
                    return self.member()
            if sign.text == "-" and self.token.kind in ("int", "double"):
                # The least number of all has no positive one to be made of.
                token = self.take()
                return self.member(Expression("literal", token.kind, token.at, value=number(token.kind, "-" + token.text)))
            return Expression("call", f"{sign.text}_", sign.at, None, (self.member(),))
        return self.member()

    def member(self, value: Expression | None = None) -> Expression:
        value = value or self.primary()
        while True:
            if dot := self.found("."):
                value = self.selected(value, dot)
            elif bracket := self.found("["):
                optional = self.found("?") is not None
                inside = self.expression()
                self.take("]")
                value = Expression("index", "_[_]", bracket.at, value, (inside,), optional=optional)
            else:
                return value

    def selected(self, value: Expression, dot: Token) -> Expression:
        optional = self.found("?") is not None
        if self.token.kind != "name":
            raise self.misread(f"no viable alternative at input '.{self.token.text}'")
        name = self.take().text.strip("`")
        if opening := self.found("("):
            return Expression("call", name, opening.at, value, self.several(")"))
        return Expression("select", name, dot.at, value, optional=optional)

    def primary(self) -> Expression:
        token = self.take()
        if token.kind in ("int", "uint", "double"):
            return Expression("literal", token.kind, token.at, value=number(token.kind, token.text))
        if token.kind == "string":
            value = text_of(token.text)
            return Expression("literal", "bytes" if isinstance(value, bytes) else "string", token.at, value=value)
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
        self._next -= 1
        raise self.misread()

    def named(self, token: Token) -> Expression:
        if token.text in ("true", "false", "null"):
            value = {"true": True, "false": False, "null": None}[token.text]
            return Expression("literal", "null_type" if value is None else "bool", token.at, value=value)
        if opening := self.found("("):
            return Expression("call", token.text, opening.at, None, self.several(")"))
        return Expression("name", token.text, token.at)

    def several(self, end: str) -> tuple[Expression, ...]:
        found: list[Expression] = []
        while not self.found(end):
            optional = end == "]" and self.found("?") is not None
            found.append(replace(self.expression(), optional=True) if optional else self.expression())
            if self.token.text != end:
                self.take(",")
        return tuple(found)

    def entries(self) -> tuple[Expression, ...]:
        """Keys and values in turn."""
        found: list[Expression] = []
        while not self.found("}"):
            optional = self.found("?") is not None
            found.append(self.expression())
            self.take(":")
            found.append(replace(self.expression(), optional=True) if optional else self.expression())
            if self.token.text != "}":
                self.take(",")
        return tuple(found)
