"""Engines as a registry, and what each is asked for; a real Docker engine is in test_docker."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from railyard.base.errors import InputError
from railyard.torus.engines import DEFAULT, docker_engine, engines, netns
from railyard.torus.engines.base import Containers, NodeOrder
from railyard.torus.plan.plan import Namespace, Route, Shaper

pytestmark = pytest.mark.unit


def test_engines_are_found_by_module_the_default_first() -> None:
    first, *others = engines()
    assert first == DEFAULT and "docker" in others
    assert engines()["docker"].name == "docker"


def test_options_of_containers_need_an_engine_of_containers() -> None:
    assert engines()[DEFAULT].made_of(None, ()) is None
    with pytest.raises(InputError, match=r"--volume.*an engine of containers"):
        engines()[DEFAULT].made_of(None, ("/tmp",))


def test_docker_is_asked_for_one_container_per_node(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made: list[dict[str, Any]] = []

    def create(image: str, **settings: Any) -> SimpleNamespace:
        made.append({"image": image, **settings})
        running = {"State": {"Pid": os.getpid()}}
        return SimpleNamespace(start=lambda: None, reload=lambda: None, attrs=running)

    client = SimpleNamespace(containers=SimpleNamespace(create=create))
    monkeypatch.setattr(docker_engine, "_client", lambda: client)
    order = NodeOrder(
        torus="t",
        nodes=("n0", "n1"),
        made_of=Containers(image="i", image_sha256="ab", volumes=("/data",)),
        hosts={"n0": "10.0.0.0"},
        folder=tmp_path,
        environment={"A": "1"},
        mounts=lambda host: {Path("/in"): Path(f"/of/{host}")},
    )
    counted: list[int] = []
    assert engines()["docker"].create(order, counted.append) == {"n0": os.getpid(), "n1": os.getpid()}
    assert counted == [1, 2] and docker_engine.first_processes(tmp_path) == {"n0": os.getpid(), "n1": os.getpid()}
    one = next(entry for entry in made if entry["hostname"] == "n1")
    assert (one["image"], one["name"], one["environment"]) == ("sha256:ab", "railyard.t.n1", {"A": "1"})
    assert {mount["Target"] for mount in one["mounts"]} >= {"/data", "/in"}
    assert one["extra_hosts"] == {"n0": "10.0.0.0"}


def test_routes_and_shapers_become_text() -> None:
    far = Route(prefix="10.1.0.0/16", interface="x+", gateway="169.254.0.1", source="10.0.0.7")
    near = Route(prefix="10.0.0.0/32", interface="h0")
    assert netns.route_words(far) == "10.1.0.0/16 via 169.254.0.1 dev x+ onlink src 10.0.0.7"
    assert netns.route_words(near) == "10.0.0.0/32 dev h0"
    shaper = Shaper(interface="x+", rate_bit_s=1000, burst_bytes=2, queue_bytes=3, delay_us=4.0, delay_packets=5)
    assert netns.shaper_lines(shaper) == [
        "qdisc replace dev x+ root handle 1: tbf rate 1000bit burst 2 limit 3",
        "qdisc replace dev x+ parent 1:1 handle 10: netem delay 4us limit 5",
    ]
    old = Namespace(name="r", ip=(), routes=(far, near), shapers=(shaper,))
    new = Namespace(name="r", ip=(), routes=(near,), shapers=())
    assert netns.reroute_lines(old, new, again=False) == ["route del 10.1.0.0/16"]
    assert netns.reroute_lines(old, new, again=True) == [
        "route replace unreachable 10.1.0.0/16",
        "route del unreachable 10.1.0.0/16",
    ]
    assert netns.reroute_lines(new, old, again=False) == [f"route replace {netns.route_words(far)}"]
    assert netns.reshape_lines(old.shapers, old.shapers) == []
    assert netns.reshape_lines((), old.shapers) == netns.shaper_lines(shaper)
