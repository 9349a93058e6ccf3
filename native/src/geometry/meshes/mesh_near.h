// Faces near a box or a ball, as lib/geometry/mesh_boxes.py defines them. The walk goes through the children of wide
// nodes in their order, which is that of the binary tree, so that it finds the faces in the same order.
#pragma once
#include "geometry/meshes/mesh_data.h"
#include "geometry/meshes/mesh_points.h"

namespace wc {
namespace {

struct Boxes {
    Vec3<V8> lower, upper;
};

WC_INLINE Vec3<V8> load3(const float (*p)[kWidth]) { return {load<V8>(p[0]), load<V8>(p[1]), load<V8>(p[2])}; }
WC_INLINE Vec3<V8> least(Vec3<V8> a, Vec3<V8> b) { return {least(a.x, b.x), least(a.y, b.y), least(a.z, b.z)}; }
WC_INLINE Vec3<V8> most(Vec3<V8> a, Vec3<V8> b) { return {most(a.x, b.x), most(a.y, b.y), most(a.z, b.z)}; }
WC_INLINE Vec3<V8> all3(const float* p) { return {all(p[0]), all(p[1]), all(p[2])}; }
WC_INLINE unsigned are_ordered(Vec3<V8> a, Vec3<V8> b) { return bits((a.x <= b.x) & (a.y <= b.y) & (a.z <= b.z)); }

WC_INLINE Boxes boxes_of(const WideNode& node) { return {load3(node.lower), load3(node.upper)}; }
WC_INLINE Boxes boxes_of(const TriangleBlock& block) {
    Vec3<V8> a = load3(block.corner[0]), b = load3(block.corner[1]), c = load3(block.corner[2]);
    return {least(least(a, b), c), most(most(a, b), c)};
}

// A node on the way of a walk, with its children to visit. Of those that are held all faces are found.
struct Visit {
    int32_t node;
    unsigned next, held;
};

template <class Shape>
WC_INLINE Visit visit_of(const MeshData& mesh, const Shape& shape, int32_t node) {
    Boxes boxes = boxes_of(mesh.wide_nodes[node]);
    return {node, shape.meets(boxes), shape.holds(boxes)};
}

// The child of a node that a block is below.
WC_INLINE int child_above(const WideNode& node, int32_t block) {
    int child = 0;
    for (int32_t first : node.first_block) child += first <= block;
    return child;
}

// The first block below a child of a node, and the last.
WC_INLINE int32_t first_block(const MeshData& mesh, int32_t child) {
    while (child >= 0) child = mesh.wide_nodes[child].child[0];
    return -1 - child;
}

WC_INLINE int32_t last_block(const MeshData& mesh, int32_t child) {
    while (child >= 0) {
        const WideNode& node = mesh.wide_nodes[child];
        child = node.child[node.count - 1];
    }
    return -1 - child;
}

// A walk that goes on. It begins at the node where it was, and comes from the root when that node has no more.
template <class Shape>
struct NearWalk {
    const MeshData& mesh;
    const Shape& shape;
    const FacePlace from;
    bool is_below;
    Visit visits[kBvhDepth], *top;

    WC_INLINE NearWalk(const MeshData& mesh_, const Shape& shape_, const FacePlace& at)
        : mesh(mesh_), shape(shape_), from(at), is_below(at.place > 0), top(visits) {
        *top = visit_of(mesh, shape, from.place);
        const bool is_done = from.end == kWidth;
        if (from.number > 0 || is_done)
            top->next &= ~0u << child_above(mesh.wide_nodes[from.place], from.number) << is_done;
    }

    // Lists the nodes above the first one, with what is to visit behind it.
    void come_from_root() {
        top = visits - 1;
        for (int32_t node = 0; node != from.place;) {
            const WideNode& wide = mesh.wide_nodes[node];
            int child = child_above(wide, from.number);
            *++top = visit_of(mesh, shape, node);
            top->next &= ~1u << child;
            node = wide.child[child];
        }
        is_below = false;
    }

    // Goes up to a node that has more to visit. Returns false at the end of the walk.
    WC_INLINE bool go_up() {
        while (top->next == 0) {
            if (top > visits)
                --top;
            else if (is_below)
                come_from_root();
            else
                return false;
        }
        return true;
    }

    // Goes to the next block that may have faces, or to a child that is held. Returns false behind the last.
    WC_INLINE bool next_child(int32_t& child, bool& is_held) {
        while (go_up()) {
            int i = __builtin_ctz(top->next);
            top->next &= top->next - 1;
            child = mesh.wide_nodes[top->node].child[i];
            is_held = (top->held >> i & 1) != 0;
            if (child < 0 || is_held) return true;
            Visit below = visit_of(mesh, shape, child);
            *++top = below;
        }
        return false;
    }
};

// The faces of a step, which are found in the order of their places.
struct Step {
    FoundFaces found{{-1, -1, -1, -1, -1, -1, -1, -1}};
    int count = 0;

    // Adds faces as long as they fit. Returns how many are left.
    WC_INLINE int32_t add(const int32_t* faces, int32_t left) {
        for (; left > 0 && count < kFoundFaces; --left) found.face[count++] = *faces++;
        return left;
    }

    // Adds those faces of a block that `hits` has a bit for. Returns the bits of those left.
    WC_INLINE unsigned add(const TriangleBlock& block, unsigned hits) {
        for (; hits != 0 && count < kFoundFaces; hits &= hits - 1)
            found.face[count++] = block.face[__builtin_ctz(hits)];
        return hits;
    }
};

// Adds the faces of a held child, of which `left` are left up to the end of its last block.
WC_INLINE int32_t add_held(const MeshData& mesh, Step& step, int32_t last, int32_t left) {
    return step.add(mesh.order + mesh.sources[last + 1].place - left, left);
}

// Goes on with a walk. Returns the next faces that are found, and -1 behind the last.
template <class Shape>
WC_INLINE FoundFaces next_faces(const MeshData& mesh, FacePlace& at, const Shape& shape) {
    Step step;
    if (at.end < 0) {
        int32_t left = add_held(mesh, step, at.number, -at.end);
        at.end = left > 0 ? -left : kWidth;
        if (step.count == kFoundFaces) return step.found;
    }
    NearWalk<Shape> walk(mesh, shape, at);
    at = {mesh.node_count, 0, 0};
    bool is_held;
    for (int32_t child; walk.next_child(child, is_held);) {
        int32_t number = is_held ? last_block(mesh, child) : -1 - child, end = kWidth;
        if (is_held) {
            int32_t first = mesh.sources[first_block(mesh, child)].place;
            int32_t left = add_held(mesh, step, number, mesh.sources[number + 1].place - first);
            if (left > 0) end = -left;
        } else {
            unsigned hits = shape.faces_of(mesh.blocks[number]);
            if (number == walk.from.number) hits &= ~0u << (walk.from.end & (kWidth - 1));
            hits = step.add(mesh.blocks[number], hits);
            if (hits != 0) end = __builtin_ctz(hits);
        }
        if (step.count < kFoundFaces) continue;
        at = {number, walk.top->node, end};
        break;
    }
    return step.found;
}

struct Box {
    Vec3<V8> low, high;

    WC_INLINE unsigned meets(const Boxes& other) const {
        return are_ordered(other.lower, high) & are_ordered(low, other.upper);
    }
    WC_INLINE unsigned holds(const Boxes& other) const {
        return are_ordered(low, other.lower) & are_ordered(other.upper, high);
    }
    WC_INLINE unsigned faces_of(const TriangleBlock& block) const { return meets(boxes_of(block)); }
};

FoundFaces next_in_box(const MeshData& mesh, const float* low, const float* high, FacePlace& at) {
    return next_faces(mesh, at, Box{all3(low), all3(high)});
}

// -- balls -----------------------------------------------------------------------------------------------------------

constexpr double kRoom = 1.0e-12;  // covers the rounding of a squared distance, in units of those of the corners
constexpr double kFinite = 1.0e300;
constexpr float kWider = 1.00001f, kNarrower = 0.99999f, kLeast = 1.0e-37f, kMost = 1.0e37f;  // for single precision

struct Ball {
    Vec3<V8> centre;
    double limit;  // the square of the radius

    // True for boxes that may have a point in the ball. Zero is the first operand, so that NaN remains.
    WC_INLINE unsigned meets(const Boxes& boxes) const {
        V8 zero{}, x = most(zero, most(boxes.lower.x - centre.x, centre.x - boxes.upper.x));
        V8 y = most(zero, most(boxes.lower.y - centre.y, centre.y - boxes.upper.y));
        V8 z = most(zero, most(boxes.lower.z - centre.z, centre.z - boxes.upper.z));
        return bits(x * x + y * y + z * z <= all(static_cast<float>(limit) * kWider + kLeast));
    }

    // True for boxes that lie in the ball, by more than rounding.
    WC_INLINE unsigned holds(const Boxes& boxes) const {
        V8 x = most(centre.x - boxes.lower.x, boxes.upper.x - centre.x);
        V8 y = most(centre.y - boxes.lower.y, boxes.upper.y - centre.y);
        V8 z = most(centre.z - boxes.lower.z, boxes.upper.z - centre.z);
        float most_sq = limit < kMost ? static_cast<float>(limit) * kNarrower - kLeast : -1.0f;
        return bits(x * x + y * y + z * z <= all(most_sq));
    }

    // True if a face has a point in the ball. A corner well inside decides at once.
    WC_INLINE bool meets(const TriangleBlock& block, int i) const {
        Vec3<double> corners[3];
        double size[3];
        for (int k = 0; k < 3; ++k) {
            corners[k] = {block.corner[k][0][i] - centre.x[0], block.corner[k][1][i] - centre.y[0],
                          block.corner[k][2][i] - centre.z[0]};
            size[k] = dot(corners[k], corners[k]);
        }
        double sum = size[0] + size[1] + size[2], nearest = least(least(size[0], size[1]), size[2]);
        if (sum < kFinite && nearest + kRoom * sum <= limit) return true;
        Vec3<D4> a = all(corners[0]), b = all(corners[1]), c = all(corners[2]);
        return closest_of(a, b, c).distance_sq[0] <= limit;
    }

    WC_INLINE unsigned faces_of(const TriangleBlock& block) const {
        unsigned found = 0;
        for (unsigned left = meets(boxes_of(block)); left != 0; left &= left - 1) {
            int i = __builtin_ctz(left);
            found |= static_cast<unsigned>(meets(block, i)) << i;
        }
        return found;
    }

  private:
    WC_INLINE static Vec3<D4> all(Vec3<double> p) { return {wc::all(p.x), wc::all(p.y), wc::all(p.z)}; }
    WC_INLINE static V8 all(float x) { return wc::all(x); }
};

FoundFaces next_in_ball(const MeshData& mesh, const float* centre, float radius, FacePlace& at) {
    return next_faces(mesh, at, Ball{all3(centre), double{radius} * radius});
}

}  // namespace
}  // namespace wc
