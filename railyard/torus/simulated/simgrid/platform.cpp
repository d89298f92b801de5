/*
 * A SimGrid platform made of a description (description.hpp): `smpirun -platform railyard-simgrid.so`.
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
#include "description.hpp"

#include <simgrid/s4u.hpp>

#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/version.h>
#if SIMGRID_VERSION < 40000
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#endif

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
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
    explicit Network(const railyard::Description &description)
        : NetZoneImpl("railyard"), description_(description) {}

    void fill() {
        for (const railyard::LinkLine &line : description_.links()) {
            make_link(get_iface(), line.name, line.rate_byte_s);
            links_.push_back(get_link_by_name_or_null(line.name));
        }
        for (std::size_t i = 0; i < description_.hosts().size(); i++)
            remember(make_host(get_iface(), description_.hosts()[i].name)->get_netpoint(),
                     static_cast<int>(i));
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
            sum += description_.links()[static_cast<std::size_t>(link)].latency_s;
        });
        return sum;
    }

    /* Calls `visit(link, times)` for every link from one host to another, in order. */
    template <class Visit>
    void walk(const railyard::HostLine &source, const railyard::HostLine &target, Visit visit) const {
        const railyard::NodeLine &node = description_.nodes()[static_cast<std::size_t>(target.node)];
        if (source.node == target.node) {
            visit(node.memory, 1);
            return;
        }
        const railyard::Door &door = node.doors[static_cast<std::size_t>(source.rail)];
        const railyard::Way way = description_.way(source.point, target.address);
        bool is_shared =
            way.count > 0; /* nodes of one router do not go through what they share to leave it */
        visit(source.out, 1);
        if (is_shared && source.shared_out != railyard::NONE)
            visit(source.shared_out, 1);
        for (std::size_t i = 0; i < way.count; i++)
            visit(way.first[i], way.times);
        if (is_shared && door.shared != railyard::NONE)
            visit(door.shared, 1);
        visit(door.own, 1);
    }

    const railyard::HostLine &host(const routing::NetPoint *point) const {
        return description_.hosts()[static_cast<std::size_t>(host_of_point_[point->id()])];
    }

  private:
    void remember(const routing::NetPoint *point, int host) {
        if (host_of_point_.size() <= point->id())
            host_of_point_.resize(point->id() + 1, UNKNOWN);
        host_of_point_[point->id()] = host;
    }

    const railyard::Description &description_;
    std::vector<StandardLinkImpl *> links_;
    std::vector<int> host_of_point_; /* by the point's number in this zone */
};

/* Payload bytes on each link, counted as each message starts. */
class LinkBytes {
  public:
    LinkBytes(const railyard::Description &description, const Network &network, std::string path)
        : description_(description), network_(network), path_(std::move(path)),
          bytes_(description.links().size(), 0.0) {}

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
                (void)std::fprintf(file.get(), "%.0f %s\n", bytes_[i], description_.links()[i].name.c_str());
    }

  private:
    const railyard::Description &description_;
    const Network &network_;
    std::string path_;
    std::vector<double> bytes_;
};

/* SimGrid calls this once per message for its bandwidth factor; no other public callback has size and
 * endpoints. */
void count_bytes(const railyard::Description &description, Network &network, const char *path) {
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
    auto *description = new railyard::Description(path);
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
