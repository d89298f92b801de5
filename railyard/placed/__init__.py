"""Give any ReFrame test placements, NIC policies, random order, proof and a record: the mixin `railyard.Placed`.

    import railyard

    @rfm.simple_test
    class my_test(site_test, railyard.Placed): ...

The mixin is all that needs ReFrame: variables, hooks at its stages, skips and verdicts. The job itself is in
`railyard.jobs`: what a partition can give (`request`), the files and lines of the launches (`submission`), the record
and its verdict (`stagedir`). `checks.base.PlacedCheck` derives from it for railyard's own benchmarks.
"""
