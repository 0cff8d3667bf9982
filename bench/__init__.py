"""Figures about speed and memory. Each file prints its own; nothing here is a test.

python -m bench                  every figure
python -m bench plan             one of them
python -m bench fleet --help     the yardstick for any operator
"""
