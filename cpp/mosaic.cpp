#include "mosaic.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace nestmap {

namespace {

constexpr int64_t MOST = 48;         // children divided at once; more are first cut into two halves
constexpr double AREA_ERROR = 0.01;  // accepted error of an area, as a share of it
constexpr int NEWTON_STEPS = 20;
// cosine and sine of the golden angle, by which a spiral turns from point to point
constexpr Point GOLDEN{-0.7373688780783197, 0.6754902942615238};
constexpr double INSIDE = 0.9;  // sites start within this share of the way to the border

struct Vertex {
    Point p;
    int64_t edge;  // which child's cut made the edge that starts here; -1: the region's border
};
using Polygon = std::vector<Vertex>;

double cross(Point a, Point b) { return a.x * b.y - a.y * b.x; }

struct Moments {
    double area = 0;
    Point centre{0, 0};
    double xx = 0, xy = 0, yy = 0;  // covariance of a uniform density
};

Moments moments(const Polygon& polygon) {
    Moments m;
    const size_t n = polygon.size();
    if (n < 3) return m;
    const Point o = polygon[0].p;
    double sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;
    for (size_t i = 1; i + 1 < n; ++i) {
        const Point a{polygon[i].p.x - o.x, polygon[i].p.y - o.y};
        const Point b{polygon[i + 1].p.x - o.x, polygon[i + 1].p.y - o.y};
        const double t = cross(a, b) / 2;
        m.area += t;
        sx += t * (a.x + b.x) / 3;
        sy += t * (a.y + b.y) / 3;
        sxx += t * (a.x * a.x + a.x * b.x + b.x * b.x) / 6;
        syy += t * (a.y * a.y + a.y * b.y + b.y * b.y) / 6;
        sxy += t * (2 * a.x * a.y + a.x * b.y + b.x * a.y + 2 * b.x * b.y) / 12;
    }
    if (!std::isfinite(m.area)) m.area = 0;  // of corners so far out that it overflows: nothing to divide
    if (m.area <= 0) return m;
    const double cx = sx / m.area, cy = sy / m.area;
    m.centre = {o.x + cx, o.y + cy};
    m.xx = sxx / m.area - cx * cx;
    m.yy = syy / m.area - cy * cy;
    m.xy = sxy / m.area - cx * cy;
    return m;
}

// The part of a polygon where normal . x <= limit; `edge` names the cut.
void clip(const Polygon& in, Point normal, double limit, int64_t edge, Polygon& out) {
    out.clear();
    const size_t n = in.size();
    for (size_t i = 0; i < n; ++i) {
        const Vertex &a = in[i], &b = in[i + 1 < n ? i + 1 : 0];
        const double da = normal.x * a.p.x + normal.y * a.p.y - limit;
        const double db = normal.x * b.p.x + normal.y * b.p.y - limit;
        if (da <= 0) out.push_back(a);
        if ((da <= 0) == (db <= 0)) continue;
        const double t = da / (da - db);
        out.push_back({{a.p.x + t * (b.p.x - a.p.x), a.p.y + t * (b.p.y - a.p.y)}, da <= 0 ? edge : a.edge});
    }
}

// Symmetric square root of a 2 x 2 covariance, or its inverse; flat directions count as `floor` of the largest.
struct Root {
    double xx, xy, yy;
    Point operator()(Point p) const { return {xx * p.x + xy * p.y, xy * p.x + yy * p.y}; }
};

// No sine, no arctangent: their last digit is the C library's. Corners are of a size that squares stay in range.
double length(double x, double y) { return std::sqrt(x * x + y * y); }

// The direction in which a covariance is the largest, from (xx - yy) / 2 and xy.
Point long_axis(double half, double xy) {
    const double r = length(half, xy);
    if (!(r > 0)) return {1, 0};
    const double larger = std::sqrt((r + std::fabs(half)) / (2 * r)), smaller = std::fabs(xy) / (2 * r * larger);
    return half >= 0 ? Point{larger, xy < 0 ? -smaller : smaller} : Point{smaller, xy < 0 ? -larger : larger};
}

Root root(double xx, double xy, double yy, double floor, bool inverse) {
    const double mean = (xx + yy) / 2, half = (xx - yy) / 2, r = length(half, xy);
    double major = mean + r, minor = std::max(mean - r, floor * (mean + r));
    if (major <= 0) return {1, 0, 1};
    const auto [c, s] = long_axis(half, xy);
    major = std::sqrt(major);
    minor = std::sqrt(minor);
    if (inverse) {
        major = 1 / major;
        minor = minor > 0 ? 1 / minor : 0;
    }
    return {c * c * major + s * s * minor, c * s * (major - minor), s * s * major + c * c * minor};
}

// Polygons in the order in which they were found.
struct PolygonList {
    std::vector<Point> points;
    std::vector<int64_t> ids, counts;
    void add(int64_t id, const Polygon& polygon) {
        for (const Vertex& v : polygon) points.push_back(v.p);
        ids.push_back(id);
        counts.push_back((int64_t)polygon.size());
    }
};

// One polygon per child, in the order of the children.
Polygons collect(std::vector<PolygonList>& pieces, int64_t n_children, int n_threads, const Poll& poll) {
    Polygons out;
    out.starts.assign(n_children + 1, 0);
    for (const PolygonList& piece : pieces)
        for (size_t i = 0; i < piece.ids.size(); ++i) out.starts[piece.ids[i] + 1] = piece.counts[i];
    std::partial_sum(out.starts.begin(), out.starts.end(), out.starts.begin());
    out.points.resize(out.starts.back());
    parallel_for((int64_t)pieces.size(), n_threads, poll, [&](int64_t task, int) {
        PolygonList piece = std::move(pieces[task]);  // gone when copied
        const Point* from = piece.points.data();
        for (size_t i = 0; i < piece.ids.size(); from += piece.counts[i++])
            std::copy(from, from + piece.counts[i], out.points.data() + out.starts[piece.ids[i]]);
    });
    return out;
}

class Divider {
public:
    explicit Divider(const MosaicInput& in) : in_(in) {}

    // Divides a region among children (ids into the input), writing centres and polygons.
    void divide(const Polygon& region, const std::vector<int64_t>& ids, int rounds, Point* centres,
                PolygonList* polygons) {
        const Moments m = moments(region);
        if (m.area <= 0 || ids.size() == 1) {
            const Point centre = m.area > 0 ? m.centre : region.empty() ? Point{0, 0} : region[0].p;
            for (int64_t id : ids) {
                centres[id] = centre;
                if (polygons) polygons->add(id, region);
            }
            return;
        }
        place_sites(region, m, ids);
        if ((int64_t)ids.size() > MOST) return halve(region, m, ids, rounds, centres, polygons);
        solve(region);
        for (int round = 0; round < rounds; ++round) {
            sites_ = centres_;
            solve(region);
        }
        for (size_t i = 0; i < ids.size(); ++i) {
            centres[ids[i]] = centres_[i];
            if (polygons) polygons->add(ids[i], polygons_[i]);
        }
    }

private:
    // The arrangement, whitened and given the region's own spread, inside the region.
    void place_sites(const Polygon& region, const Moments& m, const std::vector<int64_t>& ids) {
        const size_t n = ids.size();
        double total = 0;
        Point mean{0, 0};
        for (int64_t id : ids) total += in_.shares[id];
        for (int64_t id : ids) {
            mean.x += in_.shares[id] / total * in_.offsets[id].x;
            mean.y += in_.shares[id] / total * in_.offsets[id].y;
        }
        double xx = 0, xy = 0, yy = 0;
        for (int64_t id : ids) {
            const double w = in_.shares[id] / total, x = in_.offsets[id].x - mean.x, y = in_.offsets[id].y - mean.y;
            xx += w * x * x;
            xy += w * x * y;
            yy += w * y * y;
        }
        const Root whiten = root(xx, xy, yy, 1e-4, true), spread = root(m.xx, m.xy, m.yy, 1e-4, false);
        sites_.resize(n);
        targets_.resize(n);
        // equal places would have no border between them: a small spiral tells them apart, in an order
        // that does not depend on the order of the rows
        std::vector<size_t> order(n);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
            const Point p = in_.offsets[ids[a]], q = in_.offsets[ids[b]];
            if (p.x != q.x) return p.x < q.x;
            if (p.y != q.y) return p.y < q.y;
            return in_.shares[ids[a]] < in_.shares[ids[b]];
        });
        const double unit = std::sqrt(m.area / n);
        Point turn{1, 0};
        for (size_t k = 0; k < n; ++k) {
            const size_t i = order[k];
            const Point o = in_.offsets[ids[i]];
            Point s = spread(whiten({o.x - mean.x, o.y - mean.y}));
            s.x += 1e-3 * unit * turn.x;
            s.y += 1e-3 * unit * turn.y;
            turn = {turn.x * GOLDEN.x - turn.y * GOLDEN.y, turn.x * GOLDEN.y + turn.y * GOLDEN.x};
            const double reach = border(region, m.centre, s);
            const double shrink = reach < 1 / INSIDE ? INSIDE * reach : 1.0;
            sites_[i] = {m.centre.x + shrink * s.x, m.centre.y + shrink * s.y};
            targets_[i] = m.area * in_.shares[ids[i]] / total;
        }
    }

    // How many times `step` fits between a point inside and the border.
    static double border(const Polygon& region, Point from, Point step) {
        double reach = 1e300;
        for (size_t i = 0; i < region.size(); ++i) {
            const Point a = region[i].p, b = region[i + 1 < region.size() ? i + 1 : 0].p;
            const Point edge{b.x - a.x, b.y - a.y};
            const double towards = step.x * edge.y - step.y * edge.x;  // outward for counter-clockwise
            const double distance = (a.x - from.x) * edge.y - (a.y - from.y) * edge.x;
            if (towards > 0) reach = std::min(reach, distance / towards);
        }
        return std::max(reach, 0.0);
    }

    // More children than can be divided at once: two halves along the region's longer axis.
    void halve(const Polygon& region, const Moments& m, const std::vector<int64_t>& ids, int rounds, Point* centres,
               PolygonList* polygons) {
        const Point axis = long_axis((m.xx - m.yy) / 2, m.xy);
        std::vector<size_t> order(ids.size());
        std::iota(order.begin(), order.end(), 0);
        std::vector<double> along(ids.size());
        for (size_t i = 0; i < ids.size(); ++i) {
            along[i] = axis.x * sites_[i].x + axis.y * sites_[i].y;
            if (std::isnan(along[i])) along[i] = 0;  // of an overflow; NaN has no order
        }
        std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return along[a] < along[b]; });
        double half = 0;
        size_t k = 0;
        while (k + 1 < order.size() && (k == 0 || half + targets_[order[k]] / 2 < m.area / 2))
            half += targets_[order[k++]];
        Polygon low, high;
        cut(region, axis, half, low, high);
        std::vector<int64_t> first, second;
        for (size_t i = 0; i < order.size(); ++i) (i < k ? first : second).push_back(ids[order[i]]);
        divide(low, first, rounds, centres, polygons);
        divide(high, second, rounds, centres, polygons);
    }

    // Cuts a polygon across an axis so that the low side has a given area.
    static void cut(const Polygon& region, Point axis, double area, Polygon& low, Polygon& high) {
        double from = 1e300, to = -1e300;
        for (const Vertex& v : region) {
            const double t = axis.x * v.p.x + axis.y * v.p.y;
            from = std::min(from, t);
            to = std::max(to, t);
        }
        for (int i = 0; i < 50; ++i) {
            const double middle = (from + to) / 2;
            clip(region, axis, middle, -1, low);
            (moments(low).area < area ? from : to) = middle;
        }
        clip(region, axis, (from + to) / 2, -1, low);
        clip(region, {-axis.x, -axis.y}, -(from + to) / 2, -1, high);
    }

    // Polygons for the current sites and weights; fills areas, centres and the lengths of common borders.
    void diagram(const Polygon& region) {
        const size_t n = sites_.size();
        polygons_.resize(n);
        areas_.resize(n);
        centres_.resize(n);
        Polygon other;
        for (size_t i = 0; i < n; ++i) {
            Polygon& polygon = polygons_[i];
            polygon = region;
            for (Vertex& v : polygon) v.edge = -1;
            const Point s = sites_[i];
            for (size_t j = 0; j < n && !polygon.empty(); ++j) {
                if (j == i) continue;
                const Point t = sites_[j];
                const Point normal{2 * (t.x - s.x), 2 * (t.y - s.y)};
                const double limit = (t.x * t.x + t.y * t.y) - (s.x * s.x + s.y * s.y) - weights_[j] + weights_[i];
                clip(polygon, normal, limit, (int64_t)j, other);
                polygon.swap(other);
            }
            const Moments m = moments(polygon);
            areas_[i] = m.area;
            centres_[i] = m.area > 0 ? m.centre : s;
        }
    }

    double worst() const {
        double e = 0;
        for (size_t i = 0; i < areas_.size(); ++i) e = std::max(e, std::fabs(areas_[i] - targets_[i]) / targets_[i]);
        return e;
    }

    double smallest() const {
        double least = 1e300;
        for (size_t i = 0; i < areas_.size(); ++i) least = std::min(least, areas_[i] / targets_[i]);
        return least;
    }

    // Weights that give the polygons their areas: damped Newton, from the plain Voronoi diagram.
    void solve(const Polygon& region) {
        const size_t n = sites_.size();
        weights_.assign(n, 0.0);
        diagram(region);
        const double least = 0.5 * std::min(1.0, smallest());
        for (int step = 0; step < NEWTON_STEPS && worst() > AREA_ERROR; ++step) {
            const std::vector<double> direction = newton_direction();
            const std::vector<double> start = weights_;
            const double before = worst();
            double length = 1;
            for (int tries = 0; tries < 12; ++tries, length /= 2) {
                for (size_t i = 0; i < n; ++i) weights_[i] = start[i] + length * direction[i];
                diagram(region);
                if (smallest() > least && worst() < (1 - length / 4) * before) break;
            }
            if (smallest() > 0) continue;
            weights_ = start;  // no way on: a polygon that is lost has no borders to find it by
            diagram(region);
            break;
        }
    }

    // Solves H d = target - area; H_ij = -border_ij / (2 |s_i - s_j|), the derivative of areas by weights.
    std::vector<double> newton_direction() {
        const size_t n = sites_.size();
        std::vector<double> h(n * n, 0.0), d(n);
        for (size_t i = 0; i < n; ++i) {
            const Polygon& polygon = polygons_[i];
            for (size_t v = 0; v < polygon.size(); ++v) {
                const int64_t j = polygon[v].edge;
                if (j < 0) continue;
                const Point a = polygon[v].p, b = polygon[v + 1 < polygon.size() ? v + 1 : 0].p;
                const double between = length(sites_[i].x - sites_[j].x, sites_[i].y - sites_[j].y);
                const double slope = length(b.x - a.x, b.y - a.y) / (2 * std::max(between, 1e-300));
                h[i * n + j] -= slope;
                h[i * n + i] += slope;
            }
            d[i] = targets_[i] - areas_[i];
        }
        // elimination without pivoting: H is a graph Laplacian; a small diagonal keeps it regular
        double scale = 0;
        for (size_t i = 0; i < n; ++i) scale = std::max(scale, h[i * n + i]);
        for (size_t i = 0; i < n; ++i) h[i * n + i] += 1e-9 * scale + 1e-300;
        for (size_t k = 0; k < n; ++k)
            for (size_t i = k + 1; i < n; ++i) {
                const double f = h[i * n + k] / h[k * n + k];
                if (f == 0) continue;
                for (size_t j = k; j < n; ++j) h[i * n + j] -= f * h[k * n + j];
                d[i] -= f * d[k];
            }
        for (size_t k = n; k-- > 0;) {
            for (size_t j = k + 1; j < n; ++j) d[k] -= h[k * n + j] * d[j];
            d[k] /= h[k * n + k];
        }
        return d;
    }

    const MosaicInput& in_;
    std::vector<Point> sites_, centres_;
    std::vector<double> targets_, weights_, areas_;
    std::vector<Polygon> polygons_;
};

}  // namespace

Polygons divide_regions(const MosaicInput& in, bool want_polygons, Point* centres, int n_threads, const Poll& poll) {
    constexpr int64_t BLOCK = 64;
    const int64_t n_tasks = (in.n_groups + BLOCK - 1) / BLOCK;
    std::vector<PolygonList> polygons(want_polygons ? n_tasks : 0);
    parallel_for(n_tasks, n_threads, poll, [&](int64_t task, int) {
        Divider divider(in);
        Polygon region;
        for (int64_t g = task * BLOCK; g < std::min(in.n_groups, (task + 1) * BLOCK); ++g) {
            region.clear();
            for (int64_t v = in.region_starts[g]; v < in.region_starts[g + 1]; ++v)
                region.push_back({in.region_points[v], -1});
            divider.divide(region, {in.order + in.starts[g], in.order + in.starts[g + 1]}, in.rounds, centres,
                           want_polygons ? &polygons[task] : nullptr);
        }
    });
    return want_polygons ? collect(polygons, in.n_children, n_threads, poll) : Polygons{};
}

void outside(const int64_t* starts, const Point* corners, const int64_t* ids, const Point* points, int64_t n,
             double* out, int n_threads, const Poll& poll) {
    constexpr int64_t BLOCK = 4096;
    parallel_for((n + BLOCK - 1) / BLOCK, n_threads, poll, [&](int64_t task, int) {
        for (int64_t i = task * BLOCK; i < std::min(n, (task + 1) * BLOCK); ++i) {
            const int64_t first = starts[ids[i]], last = starts[ids[i] + 1];
            double most = -std::numeric_limits<double>::infinity();
            for (int64_t v = first; v < last; ++v) {
                const Point a = corners[v], b = corners[v + 1 < last ? v + 1 : first];
                const Point edge{b.x - a.x, b.y - a.y};
                const double length = std::sqrt(edge.x * edge.x + edge.y * edge.y);
                if (length > 0) most = std::max(most, cross({points[i].x - a.x, points[i].y - a.y}, edge) / length);
            }
            out[i] = most;
        }
    });
}

}  // namespace nestmap
