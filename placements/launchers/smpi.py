"""SMPI: host file, and the topology that is simulated (`railyard sim`)."""

from placements.launchers import without_machine

LAUNCHER = without_machine.launcher("smpi", "sim")
