"""Model topology kinds: nodes, routers, links, routes, faults and detours."""
