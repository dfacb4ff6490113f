"""Random small data sets and parameters, and what must hold for each of them: `python -m tests.fuzz
--help`.
"""
