"""Mininet's own 8x8 torus, timed: run by the system's Python, in a network and process namespace that dies with it.

Mininet numbers links X and Y of a torus of switches with one host each; 64 switches, 64 hosts, 192 links, as many
switches and hosts as gemini-4x4x4 has routers and nodes. Linux bridges, so that nothing but Debian's package is needed.
"""

import sys
import time

from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.nodelib import LinuxBridge
from mininet.topolib import TorusTopo

setLogLevel("error")
start_s = time.monotonic()
net = Mininet(topo=TorusTopo(8, 8), switch=LinuxBridge, controller=None)
net.start()
print(time.monotonic() - start_s, len(net.switches), len(net.hosts), len(net.links), flush=True)
sys.stdin.read()
