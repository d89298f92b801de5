"""Every command that takes a topology, on every kind: it works, or one line says why not (docs/topologies.md)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner
from support.topology import flies
from support.topology.topologies import gemini

from railyard.base.errors import InputError
from railyard.cli import cli
from railyard.placements.linkload.model import PROTOCOLS, load
from railyard.placements.linkload.traffic import stencil
from railyard.placements.orders.allocation import allocate
from railyard.placements.orders.placement import place
from railyard.placements.topology import catalog, fault_words
from railyard.torus.plan import plan

FLY = {"groups": 4, "routers": 2}
KINDS = {
    "torus": gemini("3x2x2").to_dict(),
    "tree": flies.document("tree", {"leaves": 4}),
    "fat_tree": flies.document("fat_tree", {"levels": [{"children": 4, "parents": 2}]}),
    "dragonfly": flies.document("dragonfly", FLY),
    "dragonfly_plus": flies.document("dragonfly_plus", {"groups": 4, "leaves": 2, "spines": 2}),
    "packets": flies.document("dragonfly", FLY | {"routes": {"valiant_share": 0.5, "spread": "packets"}}),
    "load": flies.document("dragonfly", FLY | {"routes": {"spread": "load"}}),
    "rail_optimised": flies.document("rail_optimised", {"pods": 4, "spines": 2}, rails=8),
    "groups": flies.document("groups", {"groups": 4, "switches": 2}),
}
NO_WIRING = {"groups": "one with wiring; the kind groups has none"}
NOT_FIXED = {**NO_WIRING, "packets": "spread: nodes", "load": "spread: nodes"}
NO_GROUPS = dict.fromkeys(("torus", "tree"), "another kind with groups")
PLACE, LINKS = ["place", "TOPOLOGY", "--grid", "4x2"], ["links", "TOPOLOGY", "--grid", "4x2"]

#: Words of a command; kind -> the reason why it is refused.
COMMANDS: dict[str, tuple[list[str], dict[str, str]]] = {
    "topology": (["topology", "TOPOLOGY"], {}),
    "place plain": ([*PLACE, "--placement", "plain"], {}),
    "place by-switch": ([*PLACE, "--placement", "by-switch"], {}),
    "place by-group": ([*PLACE, "--placement", "by-group"], NO_GROUPS),
    "place few groups": ([*PLACE, "--placement", "plain@few-groups:4"], NO_GROUPS),
    "place links": ([*PLACE, "--placement", "plain", "--format", "links"], NOT_FIXED),
    "place coordinates": ([*PLACE, "--placement", "plain", "--format", "coordinates"], {}),
    "links": ([*LINKS, "--placements", "plain"], NO_WIRING),
    "links plot": ([*LINKS, "--placements", "plain", "--plot", "PATH.svg"], NO_WIRING),
    "nics": (["nics", "TOPOLOGY", "--policy", "nic-0", "--stack", "ucx"], {}),
    "coordinates": (["coordinates", "HOSTS", "--topology", "TOPOLOGY"], {}),
    "model": (
        ["model", "--hostfile", "FILE", "TOPOLOGY", "halo", "--grid", "4x2", "--cells", "8x8", "--json", "PATH.json"],
        NO_WIRING,
    ),
    "sim": (["sim", "--hostfile", "FILE", "--keep", "PATH", "TOPOLOGY", "halo"], NOT_FIXED),
}
OPTIMISED = ([*PLACE, "--placement", "optimised:1"], NO_WIRING)
#: Take a topology, but only pass its name on, need root, or take seconds; `torus up` is tested by its plan.
ELSEWHERE = {"admit", "ci", "torus up", "torus simulate"}


def called(words: list[str], kind: str, folder: Path) -> InputError | None:
    """Return the refusal of a command on a kind, or None where it worked."""
    path, hosts, places = folder / "topology.yml", folder / "hosts", folder / "places"
    path.write_text(yaml.safe_dump(KINDS[kind]))
    nodes = catalog.load(str(path)).nodes[:8]
    hosts.write_text("".join(f"{node.name}\n" for node in nodes))
    places.write_text("".join(f"{n.name} {' '.join(map(str, n.coordinate))}\n" for n in nodes))
    names = {"TOPOLOGY": path, "FILE": hosts, "HOSTS": places}
    given = [str(names.get(word, word)).replace("PATH", str(folder / "made")) for word in words]
    done = CliRunner().invoke(cli, given)
    if done.exception is None or isinstance(done.exception, SystemExit):
        assert done.exit_code == 0, done.output
        return None
    assert isinstance(done.exception, InputError), done.exception
    return done.exception


def check(error: InputError | None, reason: str | None) -> None:
    if reason is None:
        assert error is None, error
    else:
        assert error is not None and reason in str(error) and "\n" not in str(error)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_takes_a_kind_or_says_why_not(command: str, kind: str, tmp_path: Path) -> None:
    words, refused = COMMANDS[command]
    check(called(words, kind, tmp_path), refused.get(kind))


@pytest.mark.built
@pytest.mark.parametrize("kind", KINDS)
def test_optimised_takes_a_kind_or_says_why_not(kind: str, tmp_path: Path) -> None:
    words, refused = OPTIMISED
    check(called(words, kind, tmp_path), refused.get(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_torus_up_and_faults_take_a_kind_or_say_why_not(kind: str) -> None:
    topology, shape = catalog.parse(KINDS[kind], source="test"), plan.Shape(rate_scale=1e-4)
    if reason := NOT_FIXED.get(kind):
        with pytest.raises(InputError, match=reason.split(";")[0]):
            plan.make(topology, shape)
        with pytest.raises(InputError, match=reason.split(";")[0]) as error:
            fault_words.parse(topology, "'global r0-0>r1-0' --down")
        assert str(error.value).startswith("link") and "\n" not in str(error.value)
    else:
        link = next(topology.links())
        faults = fault_words.parse(topology, f"'{link.name}' --down")
        assert faults.down == {link.name, topology.reverse(link).name}
        assert plan.make(topology, shape).hosts and plan.make(topology, shape, faults)


@pytest.mark.parametrize("kind", ["fat_tree", "dragonfly", "dragonfly_plus"])
def test_the_heat_map_has_a_panel_for_each_type_of_link(kind: str, tmp_path: Path) -> None:
    """Its title names the slowest link of the type; the slowest of all is the model's."""
    from railyard.placements.linkload import heatmap

    topology, path = catalog.parse(KINDS[kind], source="test"), tmp_path / "links.svg"
    placed = place("plain", allocate(topology, "contiguous"), (4, 2))
    loads = load(topology, placed.indices, stencil((4, 2), (1e6,)), PROTOCOLS["payload"])
    heatmap.draw(loads, "a title", path)
    drawn = path.read_text()
    assert "a title" in drawn and f"slowest {loads.slowest_s * 1e3:.3g} ms" in drawn
    types = {f"{link.name.split()[0]} ({topology.joins(link)})" for link in topology.first_rail}
    assert drawn.count("slowest") == len(types) and all(name in drawn for name in types)


def test_the_cell_of_a_pair_of_groups_is_its_slowest_cable() -> None:
    from railyard.placements.linkload import heatmap

    fly = flies.made("dragonfly", {"groups": 3, "routers": 2, "cables": 2})
    links = [link for link in fly.first_rail if link.link_class == "global"]
    values = heatmap._matrix([(link, float(number)) for number, link in enumerate(links)])
    for ends in itertools.product(range(3), repeat=2):
        ms = [n for n, k in enumerate(links) if (k.source.coordinate[0], k.target.coordinate[0]) == ends]
        assert values[ends] == max(ms) if ms else values[ends] != values[ends]


def commands(group: click.Command, path: str = "") -> Iterator[str]:
    """Yield the names of all commands with an option or an argument `topology`."""
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            yield from commands(command, f"{path} {name}".strip())
    elif any("topology" in (parameter.name or "") for parameter in group.params):
        yield path


def test_no_command_with_a_topology_is_left_out() -> None:
    known = {words[0] for words, _ in COMMANDS.values()} - {"topology"}
    assert set(commands(cli)) == known | ELSEWHERE
