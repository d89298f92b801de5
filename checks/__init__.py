"""ReFrame checks: what to run, where, how often. One file a benchmark family; `base` does what they share.

Third-party programs are in `applications/`: reframe.yml lets ReFrame search the folders below this one.
"""
