/*
 * The network that a simulation runs on, as railyard/torus/simulated/network.py writes it: a flat list of
 * links, nodes, hosts and routes, in which everything is a number (docs/formats.md, "Simulated network").
 *
 * Models: a host is one NIC of one node; a route leads from a point (the router that a host is attached to)
 * to an address (the router of a destination and, in a fat tree, the spine that serves it). Leaves out:
 * topologies, placements, faults and routing rules. Only what is listed exists.
 */
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace railyard {

inline constexpr int NONE = -1;

/* One direction of a cable, or any other part with a rate; rate in bytes per second, latency in seconds. */
struct LinkLine {
    double rate_byte_s = 0;
    double latency_s = 0;
    std::string name;
};

/* The entry of a node on one rail: its own link, and the link that the nodes of a router share (or NONE). */
struct Door {
    int own = NONE;
    int shared = NONE;
};

struct NodeLine {
    int memory = NONE;
    std::vector<Door> doors; /* by rail */
};

/* One NIC: ranks run on it. `out` and `shared_out` are as in a door, but for the outgoing direction. */
struct HostLine {
    int node = NONE;
    int rail = 0;
    int point = NONE;
    int address = NONE;
    int out = NONE;
    int shared_out = NONE;
    std::string name;
};

/* The links between the routers of a pair; empty for a router and itself. `times` is how many times its own
 * time a message takes each of them for. */
struct Way {
    const int *first = nullptr;
    std::size_t count = 0;
    int times = 1;
};

class Description {
  public:
    /* Throws std::runtime_error that names the file, the line and what is wrong with it. */
    explicit Description(const std::string &path);

    const std::vector<LinkLine> &links() const {
        return links_;
    }
    const std::vector<NodeLine> &nodes() const {
        return nodes_;
    }
    const std::vector<HostLine> &hosts() const {
        return hosts_;
    }
    Way way(int point, int address) const;

  private:
    struct Span {
        std::size_t first = 0;
        std::size_t count = 0;
    };

    void read_line(const std::string &line);
    void read_reach(class Words &words);
    void read_sizes(class Words &words);
    void read_route(class Words &words);
    std::size_t place(int point, int address) const;

    std::size_t reach_ = 0;          /* links that a message passes in its own time; 0: any number */
    std::size_t most_stretches_ = 0; /* upper limit of that factor for long routes; 0: no limit */
    int points_ = 0;
    int addresses_ = 0;
    std::vector<LinkLine> links_;
    std::vector<NodeLine> nodes_;
    std::vector<HostLine> hosts_;
    std::vector<Span> spans_; /* by point, then address */
    std::vector<int> hops_;   /* the links of all routes, one after the other */
};

} // namespace railyard
