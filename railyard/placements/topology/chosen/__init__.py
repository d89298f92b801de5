"""Routes that the network chooses: the field `routes` of a topology, the ways between routers, expected link loads."""
