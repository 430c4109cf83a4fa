"""Code that the Python-driven suites share: the server under test, raw connections, results."""
