/*
 * A SimGrid platform made of a description: `smpirun -platform railyard-simgrid.so`. The description is a
 * flat list of links, nodes, hosts and routes, in which everything is a number, as
 * railyard/torus/simulated/network.py writes it (docs/formats.md, "Simulated network"). A host is one NIC of
 * one node, and ranks run on it. A route leads from a point (the router that a host is attached to) to an
 * address (the router of a destination and, in a fat tree, the spine that serves it). Only what is listed
 * exists: topologies, placements, faults and rules are left out.
 *
 * Environment: RAILYARD_NETWORK names the description; RAILYARD_LINK_BYTES, if set, a file that gets the
 * payload bytes of every link at the end, one line per link.
 *
 * Models: links that are shared equally, each direction on its own; a memory for each node, through which its
 * own ranks exchange; the answer's own route back, which SimGrid loads with 5 % of the data; long ways, whose
 * links a message takes for several times its own time. Leaves out: packets, virtual channels, credits and
 * queues: SimGrid's flows have none.
 *
 * Equal shares need a detour: SimGrid's solver gives each flow a share in inverse proportion to its route's
 * latency, as TCP does, even where weight-S is 0 (`sharing_penalty_` in network_cm02.cpp). So every route
 * has the same nominal latency, and the factor by which SimGrid multiplies the time, but not the share, gives
 * the true one.
 */
#include <simgrid/s4u.hpp>

#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/version.h>
#if SIMGRID_VERSION < 40000
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#endif

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <vector>

namespace {

namespace routing = simgrid::kernel::routing;
namespace s4u = simgrid::s4u;
using simgrid::kernel::resource::StandardLinkImpl;

constexpr double HOST_FLOP_S = 1e9; /* of no effect: computation is not simulated */
constexpr int UNKNOWN = -1;
constexpr double SAME_LATENCY_S = 1.0; /* of every route, where SimGrid computes shares */

constexpr int NONE = -1;
constexpr std::size_t ANY = std::numeric_limits<int>::max();

/* One direction of a cable, or any other part with a rate. */
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

/* One NIC. `out` is its door in the outgoing direction. */
struct HostLine {
    int node = NONE;
    int rail = 0;
    int point = NONE;
    int address = NONE;
    Door out;
    std::string name;
};

/* The links between the routers of a pair, among all hops; none for a router and itself. */
struct Way {
    std::size_t first = 0;
    std::size_t count = 0;
};

struct Description {
    std::size_t reach = 0;          /* links that a message passes in its own time; 0: any number */
    int planes = 0;                 /* networks over which rails are dealt; 0: each rail is one */
    std::size_t most_stretches = 0; /* upper limit of the factor for long routes; 0: no limit */
    std::size_t points = 0;
    std::size_t addresses = 0;
    std::vector<LinkLine> links;
    std::vector<NodeLine> nodes;
    std::vector<HostLine> hosts;
    std::vector<Way> ways; /* by point, then address */
    std::vector<int> hops; /* the links of all ways, one after the other */

    const Way &way(int point, int address) const {
        return ways[static_cast<std::size_t>(point) * addresses + static_cast<std::size_t>(address)];
    }

    /* How many times its own time a message takes each link of a way for. */
    int times(const Way &way) const {
        const std::size_t passed = reach > 0 && way.count > 0 ? (way.count - 1) / reach + 1 : 1;
        return static_cast<int>(most_stretches > 0 ? std::min(passed, most_stretches) : passed);
    }
};

/* The words of one line, parsed on demand. */
class Words {
  public:
    explicit Words(const std::string &line) : at_(line.c_str()) {}

    std::string word() {
        skip();
        const char *begin = at_;
        while (*at_ != '\0' && *at_ != ' ')
            at_++;
        if (begin == at_)
            throw std::runtime_error("a word is missing");
        return {begin, at_};
    }

    double number() {
        char *end = nullptr;
        double value = std::strtod(at_, &end);
        return take(end), value;
    }

    /* Parse an index below `most`, or NONE if `optional`. */
    int index(std::size_t most, bool optional = false) {
        char *end = nullptr;
        long value = std::strtol(at_, &end, 10);
        take(end);
        if (value < (optional ? NONE : 0) || value >= static_cast<long>(most))
            throw std::runtime_error("number " + std::to_string(value) + " of " + std::to_string(most));
        return static_cast<int>(value);
    }

    bool more() {
        skip();
        return *at_ != '\0';
    }

    /* The rest of the line: a name, which may contain blanks. */
    std::string rest() {
        skip();
        return at_;
    }

  private:
    void skip() {
        while (*at_ == ' ')
            at_++;
    }

    void take(const char *end) {
        if (end == at_)
            throw std::runtime_error("a number is missing");
        at_ = end;
    }

    const char *at_;
};

Door read_door(Words &words, std::size_t links) {
    Door door;
    door.own = words.index(links);
    door.shared = words.index(links, true);
    return door;
}

/* Add what a line describes. Throws std::runtime_error that names what is wrong with it. */
void read_line(Description &description, const std::string &line) {
    Words words(line);
    const std::string kind = words.word();
    const std::size_t links = description.links.size();
    if (kind == "r") {
        const int point = words.index(description.points);
        const int address = words.index(description.addresses);
        const std::size_t first = description.hops.size();
        while (words.more())
            description.hops.push_back(words.index(links));
        description.ways[static_cast<std::size_t>(point) * description.addresses +
                         static_cast<std::size_t>(address)] = {first, description.hops.size() - first};
    } else if (kind == "link") {
        const double rate_byte_s = words.number(), latency_s = words.number();
        description.links.push_back({rate_byte_s, latency_s, words.rest()});
        if (!(rate_byte_s > 0) || !(latency_s >= 0) || description.links.back().name.empty())
            throw std::runtime_error("a link needs a rate above 0, a latency of 0 or more, and a name");
    } else if (kind == "node") {
        NodeLine node{words.index(links), {}};
        while (words.more())
            node.doors.push_back(read_door(words, links));
        description.nodes.push_back(node);
    } else if (kind == "host") {
        HostLine host;
        host.node = words.index(description.nodes.size());
        host.rail = words.index(ANY);
        host.point = words.index(description.points);
        host.address = words.index(description.addresses);
        host.out = read_door(words, links);
        host.name = words.rest();
        description.hosts.push_back(host);
    } else if (kind == "sizes") {
        description.points = static_cast<std::size_t>(words.index(ANY));
        description.addresses = static_cast<std::size_t>(words.index(ANY));
        description.ways.resize(description.points * description.addresses);
    } else if (kind == "planes") {
        description.planes = words.index(ANY);
    } else if (kind == "reach") {
        description.reach = static_cast<std::size_t>(words.index(ANY));
        if (words.more())
            description.most_stretches = static_cast<std::size_t>(words.index(ANY));
    } else if (kind != "railyard-network/1") {
        throw std::runtime_error("unknown word " + kind);
    }
}

/* Throws std::runtime_error that names the file, the line and what is wrong with it. */
Description read_description(const std::string &path) {
    Description description;
    std::ifstream file(path);
    std::string line;
    for (int number = 1; std::getline(file, line); number++) {
        try {
            read_line(description, line);
        } catch (const std::runtime_error &error) {
            throw std::runtime_error(path + ": line " + std::to_string(number) + ": " + error.what());
        }
    }
    if (description.hosts.empty())
        throw std::runtime_error(path + ": no hosts, or not readable");
    return description;
}

using Factor = double(double, const s4u::Host *, const s4u::Host *, const std::vector<s4u::Link *> &,
                      const std::unordered_set<s4u::NetZone *> &);

/* SimGrid 4 renamed these. */
#if SIMGRID_VERSION >= 40000
s4u::Host *make_host(s4u::NetZone *zone, const std::string &name) {
    return zone->add_host(name, HOST_FLOP_S);
}
s4u::Link *make_link(s4u::NetZone *zone, const std::string &name, double rate_byte_s) {
    return zone->add_link(name, rate_byte_s);
}
routing::NetZoneImpl *root_zone(const s4u::Engine &engine) {
    return engine.get_netzone_root()->get_impl();
}
void see_messages(s4u::NetZone *zone, const std::function<Factor> &seen) {
    zone->set_bandwidth_factor_cb(seen);
}
void set_times(s4u::NetZone *zone, const std::function<Factor> &times) {
    zone->set_latency_factor_cb(times);
}
#else
s4u::Host *make_host(s4u::NetZone *zone, const std::string &name) {
    return zone->create_host(name, HOST_FLOP_S);
}
s4u::Link *make_link(s4u::NetZone *zone, const std::string &name, double rate_byte_s) {
    return zone->create_link(name, rate_byte_s);
}
routing::NetZoneImpl *root_zone(const s4u::Engine &) {
    return s4u::create_full_zone("world")->get_impl();
}
void see_messages(s4u::NetZone *zone, const std::function<Factor> &seen) {
    zone->get_network_model()->set_bw_factor_cb(seen);
}
void set_times(s4u::NetZone *zone, const std::function<Factor> &times) {
    zone->get_network_model()->set_lat_factor_cb(times);
}
#endif

/* A zone whose routes are those of the description, and nothing else. */
class Network : public routing::NetZoneImpl {
  public:
    explicit Network(const Description &description) : NetZoneImpl("railyard"), description_(description) {}

    void fill() {
        for (const LinkLine &line : description_.links) {
            make_link(get_iface(), line.name, line.rate_byte_s);
            links_.push_back(get_link_by_name_or_null(line.name));
        }
        for (std::size_t i = 0; i < description_.hosts.size(); i++)
            remember(make_host(get_iface(), description_.hosts[i].name)->get_netpoint(), static_cast<int>(i));
    }

    void get_local_route(const routing::NetPoint *source, const routing::NetPoint *target,
                         routing::Route *into, double *latency) override {
        walk(host(source), host(target), [this, into, latency](int link, int times) {
            /* A route that lists a link twice gives a message half its rate, because the solver counts each
             * mention. SimGrid requests the route of an answer without latency; answers are short and keep
             * their own time. */
            into->link_list_.insert(into->link_list_.end(), latency ? static_cast<std::size_t>(times) : 1,
                                    links_[static_cast<std::size_t>(link)]);
        });
        if (latency)
            *latency += SAME_LATENCY_S;
    }

    double latency_s(const s4u::Host *source, const s4u::Host *target) const {
        double sum = 0;
        walk(host(source->get_netpoint()), host(target->get_netpoint()), [this, &sum](int link, int) {
            sum += description_.links[static_cast<std::size_t>(link)].latency_s;
        });
        return sum;
    }

    /* Calls `visit(link, times)` for every link from one host to another, in order. */
    template <class Visit> void walk(const HostLine &source, const HostLine &target, Visit visit) const {
        const NodeLine &node = description_.nodes[static_cast<std::size_t>(target.node)];
        if (source.node == target.node) {
            visit(node.memory, 1);
            return;
        }
        const int planes =
            description_.planes > 0 ? description_.planes : static_cast<int>(node.doors.size());
        const int arrives = target.rail - target.rail % planes + source.rail % planes;
        const Door &door = node.doors[static_cast<std::size_t>(arrives)];
        const Way &way = description_.way(source.point, target.address);
        bool is_shared =
            way.count > 0; /* nodes of one router do not go through what they share to leave it */
        visit(source.out.own, 1);
        if (is_shared && source.out.shared != NONE)
            visit(source.out.shared, 1);
        for (std::size_t i = 0; i < way.count; i++)
            visit(description_.hops[way.first + i], description_.times(way));
        if (is_shared && door.shared != NONE)
            visit(door.shared, 1);
        visit(door.own, 1);
    }

    const HostLine &host(const routing::NetPoint *point) const {
        return description_.hosts[static_cast<std::size_t>(host_of_point_[point->id()])];
    }

  private:
    void remember(const routing::NetPoint *point, int host) {
        if (host_of_point_.size() <= point->id())
            host_of_point_.resize(point->id() + 1, UNKNOWN);
        host_of_point_[point->id()] = host;
    }

    const Description &description_;
    std::vector<StandardLinkImpl *> links_;
    std::vector<int> host_of_point_; /* by the point's number in this zone */
};

/* Payload bytes on each link, counted as each message starts. */
class LinkBytes {
  public:
    LinkBytes(const Description &description, const Network &network, std::string path)
        : description_(description), network_(network), path_(std::move(path)),
          bytes_(description.links.size(), 0.0) {}

    void count(double size_bytes, const s4u::Host *source, const s4u::Host *target) {
        network_.walk(
            network_.host(source->get_netpoint()), network_.host(target->get_netpoint()),
            [this, size_bytes](int link, int) { bytes_[static_cast<std::size_t>(link)] += size_bytes; });
    }

    void write() const {
        std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen(path_.c_str(), "w"), std::fclose);
        if (!file) {
            std::perror(("railyard: " + path_).c_str());
            return;
        }
        for (std::size_t i = 0; i < bytes_.size(); i++)
            if (bytes_[i] > 0)
                (void)std::fprintf(file.get(), "%.0f %s\n", bytes_[i], description_.links[i].name.c_str());
    }

  private:
    const Description &description_;
    const Network &network_;
    std::string path_;
    std::vector<double> bytes_;
};

/* SimGrid calls this once per message for its bandwidth factor; no other public callback has size and
 * endpoints. */
void count_bytes(const Description &description, Network &network, const char *path) {
    auto bytes = std::make_shared<LinkBytes>(description, network, path);
    see_messages(
        network.get_iface(),
        [bytes](double size_bytes, const s4u::Host *source, const s4u::Host *target, const auto &,
                const auto &) {
            bytes->count(size_bytes, source, target);
            return 1.0;
        });
    s4u::Engine::on_simulation_end_cb([bytes] { bytes->write(); });
}

void load(const s4u::Engine &engine, const char *path) {
    /* Both live as long as the process: SimGrid frees the zone at the very end. */
    auto *description = new Description(read_description(path));
    routing::NetZoneImpl *root = root_zone(engine);
    auto *network = new Network(*description);
    network->set_parent(root);
    network->fill();
    set_times(network->get_iface(),
              [network](double, const s4u::Host *source, const s4u::Host *target, const auto &,
                        const auto &) { return network->latency_s(source, target) / SAME_LATENCY_S; });
    if (const char *bytes = std::getenv("RAILYARD_LINK_BYTES"))
        count_bytes(*description, *network, bytes);
    network->seal();
    root->seal();
}

} // namespace

extern "C" void load_platform(const s4u::Engine &engine) {
    const char *path = std::getenv("RAILYARD_NETWORK");
    try {
        load(engine, path ? path : "");
    } catch (const std::exception &error) {
        (void)std::fprintf(stderr, "railyard: simulated network: %s\n", error.what());
        std::_Exit(EXIT_FAILURE);
    }
}
