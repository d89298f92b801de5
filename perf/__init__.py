"""`make bench`: how long a person waits, against earlier states, and the figures that documents quote. Never a test.

Some sections take their generators from tests/support, so importing this package puts `tests` on the path.
"""

import importlib.util
import sys

from railyard.base.checkout import CHECKOUT

if importlib.util.find_spec("pytest") is None:
    raise SystemExit("python -m perf: pytest is not installed, which sections need for tests/support; run: make dev")

sys.path.append(str(CHECKOUT / "tests"))
