/* Reads the network of a simulation; see description.hpp. */
#include "description.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <stdexcept>

namespace railyard {

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

static LinkLine read_link(Words &words) {
    LinkLine link;
    link.rate_byte_s = words.number();
    link.latency_s = words.number();
    link.name = words.rest();
    if (!(link.rate_byte_s > 0) || !(link.latency_s >= 0) || link.name.empty())
        throw std::runtime_error("a link needs a rate above 0, a latency of 0 or more, and a name");
    return link;
}

static NodeLine read_node(Words &words, std::size_t links) {
    NodeLine node;
    node.memory = words.index(links);
    while (words.more()) {
        Door door;
        door.own = words.index(links);
        door.shared = words.index(links, true);
        node.doors.push_back(door);
    }
    return node;
}

static HostLine read_host(Words &words, std::size_t nodes, std::size_t links, int points, int addresses) {
    HostLine host;
    host.node = words.index(nodes);
    host.rail = words.index(std::numeric_limits<int>::max());
    host.point = words.index(static_cast<std::size_t>(points));
    host.address = words.index(static_cast<std::size_t>(addresses));
    host.out = words.index(links);
    host.shared_out = words.index(links, true);
    host.name = words.rest();
    return host;
}

Description::Description(const std::string &path) {
    std::ifstream file(path);
    std::string line;
    for (int number = 1; std::getline(file, line); number++) {
        try {
            read_line(line);
        } catch (const std::runtime_error &error) {
            throw std::runtime_error(path + ": line " + std::to_string(number) + ": " + error.what());
        }
    }
    if (hosts_.empty())
        throw std::runtime_error(path + ": no hosts, or not readable");
}

void Description::read_line(const std::string &line) {
    Words words(line);
    const std::string kind = words.word();
    if (kind == "r")
        read_route(words);
    else if (kind == "link")
        links_.push_back(read_link(words));
    else if (kind == "node")
        nodes_.push_back(read_node(words, links_.size()));
    else if (kind == "host")
        hosts_.push_back(read_host(words, nodes_.size(), links_.size(), points_, addresses_));
    else if (kind == "sizes")
        read_sizes(words);
    else if (kind == "reach")
        read_reach(words);
    else if (kind != "railyard-network/1")
        throw std::runtime_error("unknown word " + kind);
}

void Description::read_reach(Words &words) {
    reach_ = static_cast<std::size_t>(words.index(std::numeric_limits<int>::max()));
    if (words.more())
        most_stretches_ = static_cast<std::size_t>(words.index(std::numeric_limits<int>::max()));
}

void Description::read_sizes(Words &words) {
    points_ = words.index(std::numeric_limits<int>::max());
    addresses_ = words.index(std::numeric_limits<int>::max());
    spans_.resize(static_cast<std::size_t>(points_) * static_cast<std::size_t>(addresses_));
}

void Description::read_route(Words &words) {
    int point = words.index(static_cast<std::size_t>(points_));
    int address = words.index(static_cast<std::size_t>(addresses_));
    Span &span = spans_[place(point, address)];
    span.first = hops_.size();
    while (words.more())
        hops_.push_back(words.index(links_.size()));
    span.count = hops_.size() - span.first;
}

std::size_t Description::place(int point, int address) const {
    return static_cast<std::size_t>(point) * static_cast<std::size_t>(addresses_) +
           static_cast<std::size_t>(address);
}

Way Description::way(int point, int address) const {
    const Span &span = spans_[place(point, address)];
    const std::size_t passed = reach_ > 0 && span.count > 0 ? (span.count - 1) / reach_ + 1 : 1;
    const std::size_t stretches = most_stretches_ > 0 ? std::min(passed, most_stretches_) : passed;
    return {hops_.data() + span.first, span.count, static_cast<int>(stretches)};
}

} // namespace railyard
