"""Networks of groups: dragonfly and dragonfly+, their routes and loads."""
