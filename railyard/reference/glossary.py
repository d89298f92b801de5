"""Define the words of railyard in one place, for the site's glossary."""

from __future__ import annotations

from railyard.reference.markdown import escaped, table

WORDS = {
    "A/A": "the same placement twice; the difference that it shows is the noise floor",
    "allocation": "the nodes that a job was granted, in the scheduler's order",
    "archive": "the folder with all records; records are added and never changed",
    "baseline": "the combination or side that changes are relative to",
    "bid": "a bag of signed records that answers a tender",
    "case": "records of one check with the same parameters, topology and machine",
    "combination": "a placement with a NIC policy and a software",
    "figure of merit": "a number that a program reports, with its unit and its better direction",
    "guard": "what watches a launch on a virtual torus; it makes a launch void if the machine did not keep up",
    "launch": "one start of all programs, by one mpirun or srun; the unit of sampling within a job",
    "link class": "what a link is made of: mezzanine, backplane, cable, host",
    "NIC policy": "which NICs each rank of a node uses",
    "origin": "where a record comes from: measured, emulated, simulated, modelled",
    "placement": "which rank runs on which slot of which node",
    "rail": "one of several independent networks that join the same nodes",
    "rate scale": "the factor by which the links of a virtual torus are slower than those of the real machine",
    "record": "one document per job: the case, all launches with raw samples, and the evidence",
    "router": "a switch of the network; a Gemini router has two nodes",
    "sample": "one timed repetition within a launch",
    "slot": "room for one rank on a node",
    "study": "a named set of checks that repeats a paper's figures",
    "tile": "a part of a Gemini link: a link along X or Z has eight, each with three lanes",
    "virtual torus": "a network of namespaces on one Linux machine, with real MPI, packets and contention",
    "void": "of a launch that ended well but proves nothing: its samples are in no statistic",
}


def page() -> str:
    """Return one table of all words."""
    return "# Glossary\n\n" + table(
        ["word", "meaning"], [(escaped(word), escaped(text)) for word, text in WORDS.items()]
    )


def undocumented() -> list[str]:
    """Return the words without a meaning."""
    return [word for word, text in WORDS.items() if not text]
