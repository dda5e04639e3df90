"""Test objects for the integration tests, with faults as methods: Postgres, Broker, Proxy.

Python's standard library and pytest only. Run with the system's Python, which has pytest:
    /usr/bin/python3 -m pytest tests/e2e
The broker's binary is build/queen, or what QUEEN_BINARY names.
"""
