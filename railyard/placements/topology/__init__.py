"""Topology kinds: nodes, routers, links, routes, faults and detours."""
