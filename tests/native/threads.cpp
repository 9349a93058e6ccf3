// What many threads do at once in native/src, for ThreadSanitizer: `make tsan` builds this with it and runs it. Results
// are compared with those of one thread. Python has no part in it, so every access is seen, and nothing is suppressed.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include "warp_core/accumulate.h"
#include "warp_core/algorithms.h"
#include "warp_core/context.h"
#include "warp_core/geometry/wide_bvh.h"
#include "warp_core/volumes/grid_builder.h"

namespace {

constexpr int kCallers = 4;
constexpr int64_t kThreads = 20'000, kChunk = 512;
constexpr wc::Scalar kInt{wc::Kind::Int, 4}, kDouble{wc::Kind::Float, 8};
constexpr int64_t kDims[4] = {kThreads, 1, 1, 1};

void check(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "wrong: %s\n", what);
    std::exit(1);
}

// Calls `work(k)` from several threads at once.
template <class F>
void at_once(F&& work) {
    std::vector<std::thread> callers;
    for (int k = 0; k < kCallers; ++k) callers.emplace_back([&work, k] { work(k); });
    for (std::thread& caller : callers) caller.join();
}

void launches_share_the_pool() {
    std::atomic<bool> done{false};
    std::thread resizing([&] {
        for (int count = 1; !done; count = count % 6 + 1) {
            wc::set_num_threads(count);
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
    });
    at_once([](int k) {
        for (int64_t n = 1; n < 5000; n = n * 3 + k) {
            std::vector<int64_t> found(n);
            wc::parallel(n, 1 + k, [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) found[i] = i;
            });
            check(std::accumulate(found.begin(), found.end(), int64_t{0}) == n * (n - 1) / 2, "a parallel loop");
        }
    });
    done = true;
    resizing.join();
    wc::set_num_threads(4);
}

void launches_within_launches() {
    std::atomic<int64_t> count{0};
    wc::parallel(8, 1, [&](int64_t, int64_t) {
        wc::parallel(1000, 10, [&](int64_t begin, int64_t end) { count += end - begin; });
    });
    check(count == 8000, "a loop within a loop");
}

void launches_that_are_cancelled() {
    at_once([](int) {
        std::atomic<int64_t> begun{0};
        auto body = [](void* data, int64_t, int64_t) {
            ++*static_cast<std::atomic<int64_t>*>(data);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        };
        wc::parallel_for(100'000, 1, body, &begun, [](void*) { return false; });
        check(begun > 0 && begun < 100'000, "a cancelled loop");
    });
}

// Adds `value` to `to` by the log of the calling thread: one record of one lane with one double.
void log_addition(double* to, double value) {
    wc_log* log = wc_log_of_thread();
    // Of the type double, lanes, numbers of a lane, words of the record, and the mask of lanes: see log_records.h.
    const uint64_t header = 1 | 1 << 2 | 1 << 8 | 3 << 20 | uint64_t{1} << 32;
    char* at = static_cast<char*>(log->at);
    std::memcpy(at, &header, 8);
    std::memcpy(at + 8, &to, 8);
    std::memcpy(at + 16, &value, 8);
    log->at = at + 24;
    if (log->at > log->limit) wc_log_full(log);
}

void add_in_order(std::vector<double>& to) {
    wc::CommitOrder order(kDims, kThreads, {}, true);
    wc::parallel(kThreads, kChunk, [&](int64_t begin, int64_t end) {
        order.begin(begin / kChunk, begin, end);
        for (int64_t i = begin; i < end; ++i) log_addition(&to[i % to.size()], 1.0 / static_cast<double>(i + 1));
        order.end();
    });
    check(order.failed_chunk() < 0, "the order of a launch");
}

void sums_are_added_in_order() {
    std::vector<double> expected(7);
    for (int64_t i = 0; i < kThreads; ++i) expected[i % 7] += 1.0 / static_cast<double>(i + 1);
    at_once([&](int) {
        for (int round = 0; round < 5; ++round) {
            std::vector<double> found(7);
            add_in_order(found);
            check(found == expected, "sums in order");
        }
    });
}

void launches_that_add_to_one_array_take_turns() {
    std::mutex gil;
    std::vector<double> shared(7);
    const uintptr_t low = reinterpret_cast<uintptr_t>(shared.data());
    const wc::WriteSet targets{{{low, low + 7 * sizeof(double)}}, {}};
    at_once([&](int) {
        for (int round = 0; round < 5; ++round) {
            std::unique_lock lock(gil);
            std::unique_ptr<wc::RangeLock> claim;
            while (!(claim = wc::RangeLock::take(targets))) {
                lock.unlock();
                wc::RangeLock::wait(targets);
                lock.lock();
            }
            lock.unlock();
            add_in_order(shared);
            lock.lock();
            claim.reset();
        }
    });
    std::vector<double> once(7);
    for (int k = 0; k < kCallers * 5; ++k) add_in_order(once);
    check(shared == once, "launches on one array");
}

void reports_of_many_threads() {
    wc_context context;
    wc::parallel(2000, 1, [&](int64_t begin, int64_t) {
        const uint64_t slots[1] = {static_cast<uint64_t>(begin)};
        wc_fail(&context, 5 + begin, 3, 1, slots);
        wc_printf(&context, "%d\n", slots);
    });
    check(context.failure.thread == 5 && context.failure.values[0] == 0, "the first failure");
}

void algorithms() {
    constexpr int64_t n = 100'000;
    at_once([](int k) {
        std::vector<int32_t> keys(2 * n), order(2 * n), sums(n), values(n), lengths(n);
        for (int64_t i = 0; i < n; ++i)
            keys[i] = static_cast<int32_t>(i * 7919 % (1000 + k)), order[i] = static_cast<int32_t>(i);
        wc::scan(kInt, sums.data(), keys.data(), n, 1, true);
        int32_t total = 0;
        wc::sum(kInt, &total, keys.data(), {1, n, 1, 1});
        check(total == sums[n - 1], "a sum");
        wc::radix_sort_pairs(kInt, keys.data(), 4, order.data(), n, 0, 32);
        check(std::is_sorted(keys.begin(), keys.begin() + n), "a sort");
        const int64_t runs = wc::runlength_encode(kInt, keys.data(), n, values.data(), lengths.data());
        check(runs == 1000 + k, "run lengths");
        std::vector<double> numbers(n);
        wc::cast(kDouble, numbers.data(), kInt, keys.data(), n);
        check(numbers[n - 1] == keys[n - 1], "a cast");
    });
}

// Triangles of a grid with waves, `height` high.
struct Grid {
    static constexpr int32_t kSide = 60;
    std::vector<float> points;
    std::vector<int32_t> indices;

    explicit Grid(float height) {
        for (int32_t i = 0; i < kSide * kSide; ++i) {
            float x = static_cast<float>(i % kSide), y = static_cast<float>(i / kSide);
            points.insert(points.end(), {x, y, height * std::sin(x * y)});
            if (i % kSide && i / kSide)
                indices.insert(indices.end(), {i, i - 1, i - kSide, i - 1, i - 1 - kSide, i - kSide});
        }
    }
    wc::Triangles triangles() const {
        return {points.data(), indices.data(), static_cast<int32_t>(indices.size() / 3), kSide * kSide};
    }
};

template <class T>
bool same_bytes(std::span<T> a, std::span<T> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

bool same_trees(const wc::TriangleBvh& a, const wc::TriangleBvh& b) {
    return a.order == b.order && same_bytes(a.nodes, b.nodes) && same_bytes(a.moments(), b.moments());
}

void trees_of_meshes() {
    const Grid flat(0.1f), steep(0.2f);
    wc::set_num_threads(1);
    auto tree = [&] { return wc::TriangleBvh(flat.triangles(), nullptr, 4, wc::build_bvh, true); };
    wc::TriangleBvh expected = tree(), expected_refit = tree();
    expected_refit.refit(steep.triangles());
    wc::set_num_threads(4);
    at_once([&](int) {
        wc::TriangleBvh found = tree();
        check(same_trees(found, expected), "the tree of a mesh");
        found.refit(steep.triangles());
        check(same_trees(found, expected_refit), "a tree that was refitted");
    });
}

// The bytes of a grid of some hundred leaves, whose background is 1.
std::vector<uint8_t> built_grid() {
    constexpr wc::GridLayout layout{wc::LeafContent::Values, 4, 8, 64, 28, 32, 20, 270400, 8256, 33856, 1088, 2144, 96};
    std::vector<wc::Voxel> voxels;
    for (int32_t i = -400; i < 400; ++i) voxels.push_back({i * 7, i * i % 900, 40 - i});
    wc::Blocks leaves = wc::find_blocks(voxels, wc::kLeafWidth);
    std::vector<uint8_t> masks(wc::kMaskOfLeaf * leaves.origins.size()), background{0, 0, 128, 63};
    const std::vector<uint8_t> header(wc::kHeader);
    constexpr std::array<double, 9> same{1, 0, 0, 0, 1, 0, 0, 0, 1};
    wc::set_masks(voxels, leaves, masks);
    wc::NodeTree tree(leaves.origins, {}, {});
    std::vector<uint8_t> grid(static_cast<size_t>(tree.offsets(layout)[3]));
    wc::write_grid(tree, layout, {header, {same, same, {}}, masks, background, {}, {}, {}}, grid);
    return grid;
}

void grids_of_voxels() {
    wc::set_num_threads(1);
    const std::vector<uint8_t> expected = built_grid();
    wc::set_num_threads(4);
    at_once([&](int) { check(built_grid() == expected, "the bytes of a grid"); });
}

struct Step {
    const char* name;
    void (*run)();
};

constexpr Step kSteps[] = {
    {"launches that share the pool", launches_share_the_pool},
    {"launches within launches", launches_within_launches},
    {"launches that are cancelled", launches_that_are_cancelled},
    {"sums in order", sums_are_added_in_order},
    {"launches that add to one array", launches_that_add_to_one_array_take_turns},
    {"reports", reports_of_many_threads},
    {"algorithms", algorithms},
    {"trees of meshes", trees_of_meshes},
    {"grids of voxels", grids_of_voxels},
};
constexpr int kRounds = 20;

}  // namespace

// Says where it is: ThreadSanitizer makes all of this slow, and a deadlock must be told from that.
int main() {
    wc::set_num_threads(4);
    for (int round = 1; round <= kRounds; ++round) {
        for (const Step& step : kSteps) {
            std::fprintf(stderr, "round %d of %d: %s ...", round, kRounds, step.name);
            const auto begin = std::chrono::steady_clock::now();
            step.run();
            const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
            std::fprintf(stderr, " %.1f s\n", seconds.count());
        }
    }
    std::puts("all results are right");
}
