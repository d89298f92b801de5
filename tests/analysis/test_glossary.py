"""The page's glossary: `library-default` on unbound ranks is another measurement than with the launcher's binding."""

from __future__ import annotations

from support import evidence

from railyard.analysis.cases.cases import group
from railyard.analysis.report import answer
from railyard.records import rules

BOTH = ["plain", "plain/launcher"]


def test_record_and_page_show_under_which_binding_the_library_chose_its_nics() -> None:
    """Unbound ranks may all take the first NIC (open-mpi/ompi#12144); `/launcher` passes no option at all."""
    read = evidence.good(origin="measured", placements=BOTH)
    assert rules.faults(read) == []
    words = {launch.placement: launch.command for launch in read.launches}
    assert "--bind-to none" in words["plain"] and "--bind-to" not in words["plain/launcher"]
    shown = dict(answer.glossary(group([read])))
    assert "nothing bound the ranks under plain." in shown["library-default"]
    assert shown["/launcher"].startswith("What the launcher chooses")
    bound = evidence.good(origin="measured", placements=BOTH[1:])
    assert "nothing bound" not in dict(answer.glossary(group([bound])))["library-default"]


def test_on_nodes_with_one_nic_there_is_no_choice() -> None:
    read = evidence.good(topology="gemini-2x2x2", grid=[2, 2, 2], nic_policies=["library-default"])
    assert "nothing bound" not in dict(answer.glossary(group([read])))["library-default"]


def test_slower_ones_are_counted_in_a_person_s_words() -> None:
    assert [answer._slower(count, others) for count, others in ((1, 1), (2, 2), (3, 3), (1, 3))] == [
        "The other is slower",
        "Both others are slower",
        "All 3 others are slower",
        "1 of the 3 others is slower",
    ]
