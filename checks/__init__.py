"""ReFrame checks: what to run, where, how often. One file per benchmark family; `base` has what they share.

Third-party programs are in `applications/`: reframe.yml lets ReFrame search the folders below this one.
"""

import railyard  # noqa: F401 - it makes packages of `make setup` visible to a ReFrame of the site's own
