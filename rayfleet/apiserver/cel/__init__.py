"""What a validation rule means before anything is judged by it: its syntax tree and its types.

Rules are run by the package common-expression-language, which takes 31 MB: a definition is checked without it.
"""
