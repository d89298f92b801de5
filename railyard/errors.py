"""The one error class that a user sees: which input, which field, which value, and what would have been valid."""

from __future__ import annotations


class InputError(ValueError):
    """Bad input, said in one line; the command line prints it and exits with 2, without a traceback.

    `source` names the file or option, `field` the path inside it (may be empty), `value` what was found
    and `valid` what is accepted there.
    """

    def __init__(self, source: str, field: str, value: object, valid: str) -> None:
        self.source, self.field, self.value, self.valid = source, field, value, valid
        place = f"{source}: {field}" if field else source
        super().__init__(f"{place}: {value!r} is not valid here; valid: {valid}")

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str, object, str]]:
        """What a process sends to another is made there from the same four."""
        return type(self), (self.source, self.field, self.value, self.valid)


class RunError(RuntimeError):
    """Something railyard asked of the machine failed (a command, a permission, a missing program)."""
