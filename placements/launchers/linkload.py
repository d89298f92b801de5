"""The link-load model in a program's place: host file, and the topology (`railyard model`)."""

from placements.launchers import without_machine

LAUNCHER = without_machine.launcher("linkload", "model")
