"""Forgeries: whatever contradicts itself or what the checker knows is refused, and every honest record is accepted."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import random
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from support import evidence, forgeries, synthetic
from support.commands import CHECKOUT
from support.records.rows import of_rows, with_rows

from railyard.base.errors import InputError
from railyard.jobs.job import job_folder
from railyard.placements.topology import catalog
from railyard.records import image_engines, programs, rules
from railyard.records.image_engines.base import Bound
from railyard.records.record import Record
from railyard.records.rules import commands, declared, design, machine, rebuilt, registry, times
from railyard.reference import catalogue
from railyard.torus.virtual import error_bound, fidelity

TORUS = evidence.on_a_torus()
GOOD = evidence.good()
MUTATIONS = 300


def faults(read: Record) -> list[str]:
    return [f"{each.field}: {each.text}" for each in rules.faults(read)]


def on_half_a_torus() -> Record:
    return evidence.good(topology="gemini-2x2x2", grid=[2, 2], order="snake", block=[2, 2, 1])


#: What an honest job may be: of any origin, of every order of ranks, beside idle nodes of its torus, answering a
#: challenge, fitted to a matrix, whose sum is a parameter without an option.
HONEST: dict[str, Callable[[], Record]] = {
    **{one: functools.partial(evidence.good, origin=one) for one in ("emulated", "simulated", "modelled", "measured")},
    "every order": evidence.on_a_torus,
    "idle nodes": on_half_a_torus,
    "challenge": functools.partial(evidence.good, challenge="N0nce-1"),
    "matrix": lambda: forgeries.changed(GOOD, forgeries.put("case.parameters", matrix_sha256="0123456789ab")),
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_records_pass(name: str) -> None:
    assert faults(HONEST[name]()) == []


@pytest.mark.parametrize("launches", [1, 99])
def test_a_modelled_figure_is_computed_again(launches: int) -> None:
    modelled = evidence.good(origin="modelled")
    halved = forgeries.changed(modelled, forgeries.scale_samples("exchange_us", 0.5, launches))
    assert any("computed again it is" in each for each in faults(halved))


@pytest.mark.parametrize(
    ("words", "change"),
    [
        ("is no node of the allocation", lambda idle, launch: idle[0].update(tx_bytes=1000)),
        ("is no node of the allocation", lambda idle, launch: idle[0].update(node="login1")),
        ("no NIC of", lambda idle, launch: launch["nics"].remove(idle[0])),
    ],
    ids=["busy", "strange", "left out"],
)
def test_a_node_beside_the_job_is_idle_and_of_the_torus(words: str, change: Callable[..., object]) -> None:
    def forge(document: dict[str, Any]) -> None:
        launch, granted = document["launches"][0], {each["name"] for each in half.case.allocation["nodes"]}
        change([each for each in launch["nics"] if each["node"] not in granted], launch)

    half = on_half_a_torus()
    assert any(words in each for each in faults(forgeries.changed(half, forge)))


@pytest.mark.parametrize(("senders", "is_refused"), [(2, False), (3, True)])
def test_a_pair_may_send_the_same_bytes_in_two_launches(senders: int, is_refused: bool) -> None:
    """Launches of OSU's latency test do."""

    def leave(document: dict[str, Any]) -> None:
        forgeries.same_bytes(document)
        for launch in document["launches"][:2]:
            for index, nic in enumerate(launch["nics"]):
                nic.update(dict.fromkeys(("tx_bytes", "rx_bytes"), 1000 if index < senders else 0))

    (rule,) = (each for each in rules.RULES if each.name == "no-two-alike")
    assert bool(list(rule.check(forgeries.changed(GOOD, leave)))) is is_refused


@pytest.mark.parametrize(
    ("labels", "is_refused"),
    [({"to": "HOST", "to_rank": 3}, False), ({"to": "n9-9-9"}, True), ({"from_rank": 99999}, True)],
)
def test_the_ends_of_a_pair_are_those_of_the_launch(labels: dict[str, Any], is_refused: bool) -> None:
    host = GOOD.launches[0].ranks[0].host

    def label(document: dict[str, Any]) -> None:
        named = {key: host if value == "HOST" else value for key, value in labels.items()}
        document["launches"][0]["series"][0]["labels"] = named

    (rule,) = (each for each in rules.RULES if each.name == "ends")
    assert bool(list(rule.check(forgeries.changed(GOOD, label)))) is is_refused


@pytest.mark.parametrize("name", [*forgeries.ALL, *forgeries.ON_A_TORUS])
def test_a_forgery_is_refused(name: str) -> None:
    """Each changes one thing, computes the digests again and is a valid record: only the rules can tell."""
    found = faults(forgeries.forged(GOOD if name in forgeries.ALL else TORUS, name))
    words = {**forgeries.ALL, **forgeries.ON_A_TORUS}[name].words
    assert any(words in each for each in found), found


MEASURED = evidence.good(origin="measured", nic_policies=evidence.POLICIES)


@pytest.mark.parametrize(
    ("devices", "words"), [(None, "launch 0 counted nic03, nic1"), (["nic0", "nic1"], "nic03 is none of nic0, nic1")]
)
def test_a_machine_counts_the_same_nics_in_every_launch(devices: list[str] | None, words: str) -> None:
    rename = forgeries.then(forgeries.put("case", devices=devices), forgeries.put("launches.0.nics.0", nic="nic03"))
    assert any(words in each for each in faults(forgeries.changed(MEASURED, rename)))


@pytest.mark.parametrize(
    ("reframe", "words"),
    [
        ({"wrapper": "/opt/site/mpirun", "launcher": "openmpi4"}, ""),
        ({"wrapper": "/opt/site/mpirun", "launcher": "mpich"}, "the case gives '-f "),
        ({"wrapper": "/opt/another", "launcher": "openmpi4"}, "begins with '/opt/site/mpirun'"),
        ({}, "begins with '/opt/site/mpirun'"),
    ],
)
def test_a_program_in_a_launchers_place_has_the_line_of_the_family_that_the_record_names(
    reframe: dict[str, str], words: str
) -> None:
    wrapped = forgeries.commands(lambda line: re.sub(r"\bmpirun\b", "/opt/site/mpirun", line, count=1))
    named = forgeries.put("provenance.reframe", **reframe)
    own, *refused = rules.faults(forgeries.changed(MEASURED, forgeries.then(wrapped, named)))
    if reframe:
        assert (own.options, own.named_in) == (reframe["wrapper"], "launchers")
    assert all(words in fault.text for fault in refused) and bool(words) == bool(refused), refused


PLAIN = evidence.good(origin="measured")
IMAGE = {name: part for name, part in synthetic.IMAGE.items() if name not in {"mpi_model", "apptainer"}}
APPTAINER = "apptainer --quiet exec /opt/images/railyard.sif"
BOUND = image_engines.engines()["apptainer"].command(
    Path("/opt/images/railyard.sif"), Bound(folder=Path("/opt/mpi"), has_pmix=True)
)


def in_image(before: str, model: str = "hybrid", **engine: str) -> list[str]:
    """Return the faults of launches from an image, with these words before the program."""

    def move(document: forgeries.Document) -> None:
        document["case"]["software"] = ["image"]
        document["provenance"]["image"] = {**IMAGE, "mpi_model": model, **(engine or {"apptainer": "1.4.5"})}
        for launch in document["launches"]:
            launch["software"] = "image"
            launch["command"] = launch["command"].replace(" halo ", f" {before} ", 1)

    return [line for line in faults(forgeries.changed(PLAIN, move)) if "ommand: " in line]


@pytest.mark.parametrize(
    ("before", "model"),
    [
        (f"{APPTAINER} halo", "hybrid"),
        (f"env RAILYARD_NICS=launch-000.nics {APPTAINER} halo", "hybrid"),
        (f"{' '.join(BOUND)} halo", "bind"),
    ],
)
def test_a_launch_from_an_image_has_the_words_of_its_engine(before: str, model: str) -> None:
    """The variable that leads to the machine's MPI was taken for a replaced library."""
    refused = [line for line in in_image(before, model) if "launches[0]." in line]
    assert refused == []


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (f"{APPTAINER} sh -c ./fast halo", "options of its own: sh -c ./fast"),
        (f"{APPTAINER} faketime -f 0.5x halo", "options of its own: faketime -f 0.5x"),
        (f"{APPTAINER} env FI_PROVIDER=shm halo", "options of its own: env FI_PROVIDER=shm"),
        (f"{APPTAINER} echo halo", "options of its own: echo"),
        (f"{APPTAINER} apptainer exec fast.sif halo", "options of its own: apptainer exec fast.sif"),
        (f"unshare --time --monotonic 99 {APPTAINER} halo", "of its own: unshare --time --monotonic 99"),
        (f"{APPTAINER.replace('exec', 'exec --bind /fast:/usr/bin/halo')} halo", "'--bind' before"),
        (f"{APPTAINER.replace('exec', 'exec --bind=/fast:/usr/bin/halo')} halo", "'--bind=/fast"),
        (f"{APPTAINER.replace('exec', 'exec -B /fast:/usr/bin/halo')} halo", "'-B' before the program"),
        (f"{APPTAINER.replace('exec', 'exec --env-file fast.env')} halo", "'--env-file' before"),
        (f"{APPTAINER.replace('exec', 'exec --env OMPI_MCA_btl=self')} halo", "'--env' before"),
        (f"{APPTAINER.replace('exec', 'run')} halo", "'run' before the program; expected 'exec"),
        (f"{APPTAINER.replace('railyard.sif', 'fast.sif')} halo", "'/opt/images/fast.sif' before"),
        (f"{APPTAINER.replace('--quiet ', '-qc ')} halo", "'-qc' before the program; expected '--quiet'"),
        (f"{' '.join(BOUND)} halo", "replaces libraries of the program: LD_LIBRARY_PATH="),
        ("./fast --ignore halo", "'./fast' before the program; expected 'apptainer'"),
        ("./wrapper halo", "'./wrapper' before the program; expected 'apptainer'"),
        ("halo", "'halo' before the program; expected 'apptainer'"),
    ],
)
def test_other_words_before_the_program_of_an_image_are_refused(before: str, words: str) -> None:
    refused = in_image(before)
    assert len(refused) == len(PLAIN.launches) and all(words in line for line in refused), refused


def test_an_engine_that_the_checker_does_not_know_is_refused() -> None:
    assert all("whose engine" in line for line in in_image("hullrun x.sif halo", engine="hullrun 2"))


@pytest.mark.parametrize(
    ("parameters", "line", "words"),
    [
        ({}, "railyard-witness launch-N.witness lulesh2.0 -s 5", ""),
        ({"threads_per_rank": 2}, "env OMP_NUM_THREADS=2 railyard-witness launch-N.witness lulesh2.0", ""),
        ({}, "env OMP_NUM_THREADS=2 railyard-witness launch-N.witness lulesh2.0", "own: env OMP_NUM_THREADS=2"),
        ({}, "lulesh2.0 -s 5", "'lulesh2.0' before the program; expected 'railyard-witness'"),
        ({}, "railyard-witness launch-N.witness --preload libmpiP.so lulesh2.0", "own: --preload"),
        ({}, "railyard-witness launch-N.witness ./python3 lulesh2.0", "own: ./python3"),
        ({}, "railyard-witness launch-N.witness sh -c lulesh2.0", "own: sh -c"),
        ({}, "railyard-witness launch-N.witness lulesh2.0 -s 5 : -np 8 ./fast", "':' begins a second program"),
    ],
)
def test_the_words_around_a_third_party_program_are_those_of_its_case(
    parameters: dict[str, Any], line: str, words: str
) -> None:
    def change(document: forgeries.Document) -> None:
        document["case"].update(benchmark="lulesh", parameters=parameters)
        for launch in document["launches"]:
            own = line.replace("launch-N", f"launch-{launch['index']:03d}")
            launch["command"] = f"{launch['command'].partition(' halo ')[0]} {own}"

    refused = [each for each in faults(forgeries.changed(PLAIN, change)) if ".command: " in each]
    assert bool(refused) == bool(words) and all(words in each for each in refused), refused


@pytest.mark.parametrize("before", ["halo ", "env RAILYARD_NICS="])
def test_options_of_a_site_that_the_case_names_are_refused_as_options_alone(before: str) -> None:
    """A tender allows them by these words; the parameter, and the words that count NICs, were refused with them."""
    of = GOOD if before == "halo " else forgeries.changed(PLAIN, forgeries.count_nics)

    added = forgeries.commands(lambda line: line.replace(f" {before}", f" --mca pml ob1 {before}", 1))
    stated = forgeries.put("case.parameters", launcher_options="--mca pml ob1")
    assert faults(of) == []
    refused = faults(forgeries.changed(of, forgeries.then(added, stated)))
    assert refused and all(line.endswith(f"{commands.OWN_OPTIONS}--mca pml ob1") for line in refused), refused


@pytest.mark.parametrize(("stated", "words"), [(2, ""), (1, "--cpus-per-task=2"), (None, "--cpus-per-task=2")])
def test_the_processors_of_a_task_are_a_parameter_and_their_word_is_no_sites_own(
    stated: int | None, words: str
) -> None:
    """Every test that sets num_cpus_per_task, as all of EESSI do, was refused under srun."""

    reserved = forgeries.commands(lambda line: re.sub(r" ((\./\S+ )?halo )", r" --cpus-per-task=2 \1", line, count=1))
    parameter = forgeries.put("case.parameters", **({"num_cpus_per_task": stated} if stated else {}))
    refused = faults(forgeries.changed(GOOD, forgeries.then(reserved, parameter)))
    assert bool(words) == bool(refused) and all(line.endswith(words) for line in refused), refused


def test_a_host_file_of_srun_on_a_topology_of_the_sites_own_is_accepted(tmp_path: Path) -> None:
    """The checker has no such topology, and expected the line of a job that knew none."""
    shipped = (CHECKOUT / "placements/topologies/gemini-2x2x2.yml").read_text()
    (tmp_path / "site.yml").write_text(shipped.replace("name: gemini-2x2x2", "name: site"))

    words = "SLURM_HOSTFILE=plain.hosts srun --kill-on-bad-exit=1 --ntasks 2 --distribution=arbitrary --cpu-bind=none"
    by_srun = forgeries.commands(lambda line: re.sub(r"mpirun .*? (halo )", rf"{words} \1", line))
    of = evidence.good(
        topology=str(tmp_path / "site.yml"),
        grid=[2, 1],
        block=[1, 1, 2],
        order="contiguous",
        placements=["plain"],
        nic_policies=["library-default"],
    )
    refused = [line for line in faults(forgeries.changed(of, by_srun)) if "command" in line]
    assert not refused, refused


MEASURED_ON_A_TORUS = evidence.good(
    origin="measured", topology="gemini-2x2x2", grid=[2, 2, 2], placements=["plain", "custom", "hilbert"], order="snake"
)
#: Rules of what a virtual or a simulated torus alone counts or repeats.
NOT_OF_A_MACHINE = {
    *("guarded", "guard-figures", "guard-verdict", "error-bound", "busiest-link", "rate-scale", "nic-bytes"),
    *("computed-once", "computed-again"),
}


#: What a forgery of a guard or a simulation raises where a measured record has none.
NOTHING_TO_CHANGE = (AttributeError, IndexError, KeyError, StopIteration, TypeError)


@pytest.mark.parametrize("name", sorted({each.name for each in rules.RULES} - NOT_OF_A_MACHINE))
def test_every_rule_refuses_a_mutated_measured_record_and_no_honest_one(name: str) -> None:
    (rule,) = (each for each in rules.RULES if each.name == name)
    assert not list(rule.check(MEASURED)) and not list(rule.check(MEASURED_ON_A_TORUS))
    mutated = [
        (of, forgery.change)
        for of, table in ((MEASURED, forgeries.ALL), (MEASURED_ON_A_TORUS, forgeries.ON_A_TORUS))
        for forgery in table.values()
        if forgery.rule == name
    ]
    assert any(list(rule.check(forgeries.changed(of, change))) for of, change in mutated)


def test_the_rules_without_a_measured_pair_refuse_no_measured_record_at_all() -> None:
    """So that no rule is left out above that a measured record can meet."""
    left_out = [each for each in rules.RULES if each.name in NOT_OF_A_MACHINE]
    refused = []
    for of, table in ((MEASURED, forgeries.ALL), (MEASURED_ON_A_TORUS, forgeries.ON_A_TORUS)):
        for name, each in table.items():
            with contextlib.suppress(InputError, *NOTHING_TO_CHANGE):
                read = forgeries.changed(of, each.change)
                refused += [(name, r.name) for r in left_out if read.origin == "measured" and list(r.check(read))]
    assert refused == []


def test_every_rule_has_a_forgery() -> None:
    assert {each.name for each in rules.RULES} == {
        each.rule for each in {**forgeries.ALL, **forgeries.ON_A_TORUS}.values()
    }


def test_a_record_without_its_best_launches_order_is_refused() -> None:
    """The six fastest of ten, renumbered, are not in the order that the seed draws."""
    ten = evidence.good(launches=10)
    document = with_rows(ten)
    kept: dict[tuple[str, str], list[Any]] = {}
    for launch in sorted(document["launches"], key=lambda each: each["series"][0]["samples"][0]):
        kept.setdefault((launch["placement"], launch["nic_policy"]), []).append(launch)
    best = sorted((each for six in kept.values() for each in six[:6]), key=lambda each: int(each["index"]))
    seen: dict[tuple[str, str], int] = {}
    for index, launch in enumerate(best):
        key = launch["placement"], launch["nic_policy"]
        launch["index"], launch["repeat"] = index, seen.get(key, 0)
        launch["command"] = launch["command"].rpartition("launch-")[0] + f"launch-{index:03d}.json"
        seen[key] = launch["repeat"] + 1
    document["launches"], document["case"]["launches_per_combination"] = best, 6
    forged = of_rows(document)
    assert any("draws" in each for each in faults(forged))


@pytest.mark.parametrize("origin", ["emulated", "measured"])
def test_no_single_change_of_what_the_rest_determines_is_accepted(origin: str) -> None:
    """`python -m perf forgeries` makes 100,000 of them."""
    chance = random.Random(25)
    short = evidence.good(launches=1, origin=origin, nic_policies=evidence.POLICIES)
    before = forgeries.faults_of(short)
    assert {"at least 6" in text for _, text in before} == {True}
    done = [forgeries.mutated(short, chance, before) for _ in range(MUTATIONS)]
    accepted = [each.path for each in done if not each.is_refused and not each.is_free]
    assert accepted == []
    assert sum(each.is_refused for each in done) > MUTATIONS // 3


def test_the_page_lists_every_field_that_nothing_determines() -> None:
    page = (CHECKOUT / "docs" / "tender.md").read_text()
    for name in (*forgeries.FREE, *forgeries.FREE_ON_A_FABRIC):
        assert f"| `{name}` | " in page


def test_an_error_in_a_rule_is_a_fault_and_not_the_end() -> None:
    def broken(read: Record) -> Any:
        raise ZeroDivisionError("at\nonce")
        yield

    (fault,) = rules.registry.guarded("broken", broken, TORUS)
    assert "broken cannot be applied: ZeroDivisionError" in fault.text and "\n" not in fault.text


def test_every_rule_has_a_line_of_docs() -> None:
    page = catalogue.page()
    assert all(f"| `{each.name}` | {each.text} |" in page for each in rules.RULES)
    assert all(each.text.endswith(".") and len(each.text.split()) <= 25 for each in rules.RULES)


def test_the_known_keys_of_a_guard_are_those_that_it_writes() -> None:
    """So that an honest record with a new figure is not refused."""
    for name, written in (("guard", fidelity.GuardReport), ("error_bound", error_bound.ErrorBound)):
        own = {field.name for field in dataclasses.fields(written)} - {"verdict", "reasons"}
        assert set(declared.KNOWN[name].split()) == own
    lateness = error_bound.lateness(["h late_ns 0 0 0", "h late_ppm 0 0 0", "r 0 0 0 0 0 0 0 0"])
    assert lateness is not None and declared.KNOWN["lateness"].split() == [*lateness]
    assert {*job_folder.TORUS_FIELDS, *job_folder.TORUS_FIELDS_OF_ENGINE} <= set(declared.KNOWN["torus"].split())


def test_the_program_of_every_check_is_one_that_strict_knows() -> None:
    """An honest record of UMT was refused, as its program is SuOlsonTest."""
    pairs = {"hpccg": "test_HPCCG"}  # the stranger's of docs/applications.md
    for file in (CHECKOUT / "checks").rglob("*.py"):
        text = file.read_text()
        named = [re.findall(rf'^    {word} = "(\S+)"$', text, re.MULTILINE) for word in ("benchmark", "program")]
        if named[1]:
            pairs[named[0][0]] = named[1][0]
    assert {"umt", "quicksilver", "gpcnet", "lulesh"} <= pairs.keys()
    for benchmark, program in pairs.items():
        assert commands._runs(benchmark, commands._plain(program)), (benchmark, program)
        assert not commands._runs(benchmark, "true")


def test_the_options_of_every_own_benchmark_are_compared() -> None:
    """A list in the rules had neither pt2pt nor congestor, so nobody compared their options with their parameters."""
    of_checks = {
        name
        for file in (CHECKOUT / "checks").rglob("*.py")
        if " = Patterns(" not in (text := file.read_text()) and "    program = " not in text
        for name in re.findall(r'^    benchmark = "(\S+)"$', text, re.MULTILINE)
    }
    assert {"halo", "pt2pt", "congestor", "contention"} <= of_checks - {"minighost"} == set(programs.PROGRAMS)


def test_studies_are_read_from_the_checks() -> None:
    found = design.studies_by_check()
    assert found["halo_3d"] == {"pena2013"} and found["halo_injection"] == {"ezell2013"}
    assert found["halo_paper_3d"] == {"pena2013"}, "from its base class"
    assert found["halo_smoke"] == frozenset()


def test_a_record_from_the_future_is_refused_by_the_checkers_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    day = evidence.CREATED - timedelta(days=1)
    monkeypatch.setattr(times, "now", lambda: day)
    assert any("in the future" in each for each in faults(TORUS))
    monkeypatch.setattr(times, "now", lambda: datetime.now(UTC) + timedelta(days=9))
    assert faults(TORUS) == []


def test_names_of_a_real_machine_are_placed_by_their_coordinates() -> None:
    """Nodes with names of their own on a shipped topology: coordinates say where each is."""

    def rename(document: dict[str, Any]) -> None:
        text = json.dumps(document)
        for node in catalog.load("gemini-2x2x2").nodes:
            text = text.replace(f'"{node.name}"', f'"nid{"".join(map(str, node.coordinate))}"')
        document.clear()
        document.update(json.loads(text))

    renamed = forgeries.changed(TORUS, rename)
    assert faults(renamed) == [] and not rebuilt.has_own_names(renamed)

    def swap(document: dict[str, Any]) -> None:
        rename(document)
        ranks = next(each for each in document["launches"] if each["placement"] == "custom")["ranks"]
        ranks[0]["host"], ranks[1]["host"] = ranks[1]["host"], ranks[0]["host"]

    assert any("custom gives" in each for each in faults(forgeries.changed(TORUS, swap)))


Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["case"].update(topology=None),
        lambda d: [n.update(coordinate=None) for n in d["case"]["allocation"]["nodes"]],
    ],
)
def test_a_measured_record_needs_no_topology_for_orders_that_need_none(change: Change) -> None:
    measured = evidence.good(origin="measured", order="contiguous")

    def forget(document: dict[str, Any]) -> None:
        change(document)
        document["case"]["allocation"].update(order="scheduler", seed=None)
        if any(node["coordinate"] is None for node in document["case"]["allocation"]["nodes"]):
            forgeries.set_all("spans", None)(document)

    assert faults(forgeries.changed(measured, forget)) == []


def of_another_job(read: Record) -> Record:
    """The record with nothing that differs from job to job: no time, no sample, and nothing of the job itself."""
    launches = tuple(
        structs.replace(
            launch,
            **dict.fromkeys(registry.OF_A_LAUNCH - {"reported", "series"}),
            reported=dict.fromkeys(launch.reported),
            series=tuple(structs.replace(one, samples=(0.0,) * len(one.samples)) for one in launch.series),
        )
        for launch in read.launches
    )
    case = {"case": read.document["case"]}
    return dataclasses.replace(read, document=case, id="", sha256="", created="", run=None, launches=launches)


@pytest.mark.parametrize("origin", ["emulated", "measured"])
def test_rules_that_run_once_for_alike_jobs_depend_on_nothing_else(origin: str) -> None:
    once = [rule for rule in registry.RULES if rule.once_for]
    assert len(once) > 10
    honest = evidence.good(origin=origin)
    forged = [forgeries.forged(honest, name) for name in [*forgeries.ALL][::8]] if origin == "emulated" else []
    for read in [honest, *forged]:
        other = of_another_job(read)
        for rule in once:
            problems, others = (registry.guarded(rule.name, rule.check, one) for one in (read, other))
            assert problems == others, rule.name


@pytest.mark.parametrize(
    ("names", "is_refused"),
    [
        (["nid001", "nid002.site.org", "nid10"], False),
        (["r1a2n3", "r1b2n3"], False),
        (["cn-a1", "cn-b1"], False),
        (["n1", "n2", "x1"], True),
        (["nid1", "gpu1"], True),
    ],
)
def test_nodes_of_one_job_have_names_of_one_form_which_a_tender_may_let_differ(
    names: list[str], is_refused: bool
) -> None:
    honest = evidence.good(origin="measured")
    nodes = [{"name": name, "coordinate": None} for name in names]
    case = dataclasses.replace(honest.case, allocation={**honest.case.allocation, "nodes": nodes})
    document = {"case": names}
    problems = list(machine.one_form(dataclasses.replace(honest, case=case, document=document)))
    assert bool(problems) is is_refused
    assert all((fault.options, fault.named_in) == ("node_names", "may_differ") for fault in problems)
