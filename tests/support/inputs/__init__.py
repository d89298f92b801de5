"""Texts that others write, for tests of their readers and for the fuzzer."""
