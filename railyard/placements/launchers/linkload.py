"""The link-load model in a program's place: host file, and the topology (`railyard model`)."""

from railyard.placements.launchers import smpi

LAUNCHER = smpi.launcher("linkload", "model")
