#include "communities.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <unordered_map>

namespace nestmap {

namespace {

constexpr int MOST_ROUNDS = 10;     // of moves and merges; two or three are the rule
constexpr double LEAST_GAIN = 1e-12;  // of a move, per volume of the node: rounding must not move it back and forth
constexpr int64_t POLL_NODES = 1 << 14;

// Ctrl-C in a loop that runs in the calling thread.
class Patience {
public:
    explicit Patience(const Poll& poll) : poll_(poll) {}
    void step() {
        if (++n_ % POLL_NODES) return;
        const auto now = std::chrono::steady_clock::now();
        if (now - asked_ < POLL_EVERY) return;
        asked_ = now;
        poll_(0);
    }

private:
    const Poll& poll_;
    int64_t n_ = 0;
    std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
};

// The links that count: those inside of parents.
LinkGraph inside_parents(const LinkGraphView& in) {
    LinkGraph out;
    out.volumes.assign(in.volumes, in.volumes + in.n);
    out.starts.assign(in.n + 1, 0);
    out.ids.resize(in.starts[in.n]);
    out.weights.resize(in.starts[in.n]);
    int64_t n_kept = 0;
    for (int32_t i = 0; i < in.n; ++i) {
        for (int64_t e = in.starts[i]; e < in.starts[i + 1]; ++e) {
            out.ids[n_kept] = in.ids[e];
            out.weights[n_kept] = in.weights[e];
            n_kept += in.ids[e] != i && in.parents[in.ids[e]] == in.parents[i];
        }
        out.starts[i + 1] = n_kept;
    }
    out.ids.resize(n_kept);
    out.weights.resize(n_kept);
    return out;
}

// Sums of weights, which are positive, by community, for one node at a time. Without branches: none can be foretold.
class Tally {
public:
    explicit Tally(int32_t n) : sums_(n, 0.0), seen_(n + 1) {}
    void clear() {
        for (const int32_t c : *this) sums_[c] = 0;
        n_seen_ = 0;
    }
    void add(int32_t community, double weight) {
        seen_[n_seen_] = community;
        n_seen_ += sums_[community] == 0;
        sums_[community] += weight;
    }
    double operator[](int32_t community) const { return sums_[community]; }
    int32_t* begin() { return seen_.data(); }  // communities, in the order in which they were met
    int32_t* end() { return seen_.data() + n_seen_; }

private:
    std::vector<double> sums_;
    std::vector<int32_t> seen_;
    int32_t n_seen_ = 0;
};

// Communities as nodes move between them.
class Moves {
public:
    Moves(const LinkGraph& graph, double resolution, std::vector<int32_t>& labels)
        : graph_(graph), resolution_(resolution), labels_(labels), volumes_(graph.size(), 0.0),
          sizes_(graph.size(), 0), tally_(graph.size()) {
        for (int32_t i = 0; i < graph.size(); ++i) {
            volumes_[labels[i]] += graph.volumes[i];
            ++sizes_[labels[i]];
        }
        for (int32_t c = graph.size() - 1; c >= 0; --c)
            if (sizes_[c] == 0) empty_.push_back(c);
    }

    // Nodes one by one go where the gain is the highest, and their neighbours are asked again; whether any moved.
    bool run(const std::vector<int32_t>& order, Patience& patience) {
        const int32_t n = graph_.size();
        std::vector<int32_t> waiting = order;  // a ring: no node waits twice
        std::vector<char> waits(n, 1);
        int32_t first = 0, n_waiting = n;
        bool moved = false;
        while (n_waiting > 0) {
            patience.step();
            const int32_t node = waiting[first];
            first = first + 1 == n ? 0 : first + 1;
            --n_waiting;
            waits[node] = 0;
            const int32_t to = best_for(node);
            if (to == labels_[node]) continue;
            move(node, to);
            moved = true;
            for (int64_t e = graph_.starts[node]; e < graph_.starts[node + 1]; ++e) {
                const int32_t other = graph_.ids[e];
                if (waits[other] || labels_[other] == to) continue;
                waits[other] = 1;
                const int32_t behind = n - first > n_waiting ? first + n_waiting : first + n_waiting - n;
                waiting[behind] = other;
                ++n_waiting;
            }
        }
        return moved;
    }

private:
    const LinkGraph& graph_;
    const double resolution_;
    std::vector<int32_t>& labels_;
    std::vector<double> volumes_;
    std::vector<int32_t> sizes_;
    std::vector<int32_t> empty_;
    Tally tally_;

    int32_t best_for(int32_t node) {
        tally_.clear();
        for (int64_t e = graph_.starts[node]; e < graph_.starts[node + 1]; ++e)
            tally_.add(labels_[graph_.ids[e]], graph_.weights[e]);
        const int32_t own = labels_[node];
        const double pull = resolution_ * graph_.volumes[node];
        const double least = LEAST_GAIN * graph_.volumes[node];
        double best = tally_[own] - pull * (volumes_[own] - graph_.volumes[node]);
        int32_t to = own;
        for (const int32_t c : tally_) {
            if (c == own) continue;
            const double gain = tally_[c] - pull * volumes_[c];
            if (gain > best + least) {
                best = gain;
                to = c;
            }
        }
        const bool alone = best < -least && sizes_[own] > 1;
        return alone ? empty_.back() : to;  // there is an empty one: a community has two nodes
    }

    void move(int32_t node, int32_t to) {
        const int32_t from = labels_[node];
        if (!empty_.empty() && empty_.back() == to) empty_.pop_back();
        volumes_[from] -= graph_.volumes[node];
        volumes_[to] += graph_.volumes[node];
        ++sizes_[to];
        if (--sizes_[from] == 0) {
            volumes_[from] = 0;
            empty_.push_back(from);
        }
        labels_[node] = to;
    }
};

// Numbers from 0 by the lowest node; how many there are.
int32_t renumber(std::vector<int32_t>& labels) {
    std::vector<int32_t> numbers(labels.size(), -1);
    int32_t n = 0;
    for (int32_t& label : labels) {
        if (numbers[label] < 0) numbers[label] = n++;
        label = numbers[label];
    }
    return n;
}

// Communities as nodes.
LinkGraph contract(const LinkGraph& graph, const std::vector<int32_t>& labels, int32_t n) {
    std::vector<int32_t> starts(n + 1, 0), members(labels.size());
    for (const int32_t label : labels) ++starts[label + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    std::vector<int32_t> next(starts.begin(), starts.end() - 1);
    for (int32_t i = 0; i < graph.size(); ++i) members[next[labels[i]]++] = i;
    LinkGraph out;
    out.volumes.assign(n, 0.0);
    out.starts.push_back(0);
    Tally tally(n);
    for (int32_t c = 0; c < n; ++c) {
        tally.clear();
        for (int32_t at = starts[c]; at < starts[c + 1]; ++at) {
            const int32_t node = members[at];
            out.volumes[c] += graph.volumes[node];
            for (int64_t e = graph.starts[node]; e < graph.starts[node + 1]; ++e)
                tally.add(labels[graph.ids[e]], graph.weights[e]);
        }
        std::sort(tally.begin(), tally.end());
        for (const int32_t other : tally) {
            if (other == c) continue;
            out.ids.push_back(other);
            out.weights.push_back(tally[other]);
        }
        out.starts.push_back((int64_t)out.ids.size());
    }
    return out;
}

// Whole communities join, level after level; whether any did.
bool merge_communities(const LinkGraph& graph, double resolution, std::vector<int32_t>& labels, Patience& patience) {
    bool merged = false;
    LinkGraph coarse = contract(graph, labels, renumber(labels));
    while (true) {
        std::vector<int32_t> order(coarse.size());
        std::iota(order.begin(), order.end(), 0);
        std::vector<int32_t> above = order;
        if (!Moves(coarse, resolution, above).run(order, patience)) return merged;
        merged = true;
        coarse = contract(coarse, above, renumber(above));
        for (int32_t& label : labels) label = above[label];
    }
}

// Parts of a community that no link connects become communities of their own.
void split_parts(const LinkGraph& graph, std::vector<int32_t>& labels) {
    std::vector<int32_t> parts(labels.size(), -1), stack;
    int32_t n = 0;
    for (int32_t i = 0; i < graph.size(); ++i) {
        if (parts[i] >= 0) continue;
        stack.push_back(i);
        parts[i] = n;
        while (!stack.empty()) {
            const int32_t node = stack.back();
            stack.pop_back();
            for (int64_t e = graph.starts[node]; e < graph.starts[node + 1]; ++e) {
                const int32_t other = graph.ids[e];
                if (parts[other] >= 0 || labels[other] != labels[node]) continue;
                parts[other] = n;
                stack.push_back(other);
            }
        }
        ++n;
    }
    labels = std::move(parts);
}

// Clusters of a dendrogram that grows: each has links to others, and its lowest node stands for it.
class Dendrogram {
public:
    explicit Dendrogram(const LinkGraph& graph) : volumes_(graph.volumes), links_(graph.size()),
                                                  ceilings_(graph.size(), std::numeric_limits<double>::infinity()) {
        for (int32_t i = 0; i < graph.size(); ++i)
            for (int64_t e = graph.starts[i]; e < graph.starts[i + 1]; ++e) links_[i][graph.ids[e]] += graph.weights[e];
    }

    struct Partner {
        int32_t id;
        double similarity;
    };

    // The most similar cluster, of equal ones the lowest; -1 if there is no link.
    Partner nearest(int32_t cluster) const {
        Partner best{-1, -1.0};
        for (const auto& [other, weight] : links_[cluster]) {
            const double similarity = weight / (volumes_[cluster] * volumes_[other]);
            if (similarity > best.similarity || (similarity == best.similarity && other < best.id))
                best = {other, similarity};
        }
        return best;
    }

    double similarity(int32_t a, int32_t b) const {
        const auto found = links_[a].find(b);
        return found == links_[a].end() ? -1.0 : found->second / (volumes_[a] * volumes_[b]);
    }

    // The lower number stays. The similarity is at most those of the merges below.
    double merge(int32_t a, int32_t b, double similarity) {
        const int32_t low = std::min(a, b), high = std::max(a, b);
        if (links_[low].size() < links_[high].size()) std::swap(links_[low], links_[high]);
        for (const auto& [other, weight] : links_[high]) {
            if (other == low || other == high) continue;
            links_[low][other] += weight;
        }
        links_[low].erase(low);
        links_[low].erase(high);
        for (const auto& [other, weight] : links_[low]) {
            links_[other].erase(high);
            links_[other][low] = weight;
        }
        links_[high].clear();
        volumes_[low] += volumes_[high];
        ceilings_[low] = std::min({similarity, ceilings_[low], ceilings_[high]});
        return ceilings_[low];
    }

private:
    std::vector<double> volumes_;
    std::vector<std::unordered_map<int32_t, double>> links_;
    std::vector<double> ceilings_;
};

}  // namespace

void communities(const LinkGraphView& view, const int32_t* order, double resolution, int32_t* labels,
                 const Poll& poll) {
    const LinkGraph graph = inside_parents(view);
    const std::vector<int32_t> visited(order, order + view.n);
    std::vector<int32_t> found(view.n);
    std::iota(found.begin(), found.end(), 0);
    Patience patience(poll);
    for (int round = 0; round < MOST_ROUNDS; ++round) {
        const bool moved = Moves(graph, resolution, found).run(visited, patience);
        const bool merged = merge_communities(graph, resolution, found, patience);
        if (!moved && !merged) break;
    }
    split_parts(graph, found);
    std::copy(found.begin(), found.end(), labels);
}

int64_t merge_order(const LinkGraphView& view, int32_t* first, int32_t* second, double* similarities,
                    const Poll& poll) {
    Dendrogram tree(inside_parents(view));
    std::vector<char> is_gone(view.n, 0);
    std::vector<int32_t> chain;
    Patience patience(poll);
    int64_t n_merges = 0;
    for (int32_t begin = 0; begin < view.n; ++begin) {
        if (!is_gone[begin]) chain.push_back(begin);
        while (!chain.empty()) {  // towards ever more similar pairs, until two are each other's nearest
            patience.step();
            const Dendrogram::Partner next = tree.nearest(chain.back());
            if (next.id < 0) {
                chain.pop_back();
            } else if (chain.size() > 1 && tree.similarity(chain.back(), chain[chain.size() - 2]) == next.similarity) {
                const int32_t before = chain[chain.size() - 2];  // of equally near ones this, or chains would go round
                const int32_t low = std::min(chain.back(), before), high = std::max(chain.back(), before);
                chain.resize(chain.size() - 2);
                first[n_merges] = low;
                second[n_merges] = high;
                similarities[n_merges++] = tree.merge(low, high, next.similarity);
                is_gone[high] = 1;
                if (chain.empty()) chain.push_back(low);
            } else {
                chain.push_back(next.id);
            }
        }
    }
    return n_merges;
}

}  // namespace nestmap
