"""ReFrame checks: what to run, where, how often. One file per benchmark family; `base` has what they share.

Third-party programs are in `applications/`: reframe.yml lets ReFrame search the folders below this one.
"""
