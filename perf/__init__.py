"""`make bench`: the figures that documents quote, measured side by side in one run. Never a test.

Some sections take their generators from tests/support, so importing this package puts `tests` on the path.
"""

import sys

from railyard.base.checkout import CHECKOUT

sys.path.append(str(CHECKOUT / "tests"))
