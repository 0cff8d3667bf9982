"""The version of this program, in one place."""

VERSION = "0.1.0"
