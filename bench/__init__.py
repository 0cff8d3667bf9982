"""Figures about speed and memory. Each file prints its own; nothing here is a test.

python -m bench              every figure
python -m bench plan laptop  some of them
"""
